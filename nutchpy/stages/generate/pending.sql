-- How many rows stand in which fetch list not yet applied.
select pending.path, count(*) as n
from looked
inner join pending on pending.url = looked.url
where looked.reason = 'pending'
group by pending.path
