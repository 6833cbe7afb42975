-- The registered domains of the seeds.
select distinct domain
from crawldb
where depth = 0 and domain <> ''
order by domain
