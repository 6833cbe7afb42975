-- One fetch list: the first URL of every queue, then the second of every queue, and so on; in each turn, hosts mixed.
select *
from chosen
where segment = $segment and list = $list
order by turn, spread, url
