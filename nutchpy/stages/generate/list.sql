-- One fetch list: the URLs of each queue in their order, spread evenly over the list. So a queue that is asked for most
-- begins at once and has its next URL within reach all the time, and where a fetch is cut off, all are cut alike.
select *
from chosen
where segment = $segment and list = $list
order by (turn - 1 + spread / 4294967296.0) / queue_size, spread, url
