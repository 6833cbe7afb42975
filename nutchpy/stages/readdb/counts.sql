-- rows per status and host; the caller adds up what it does not show
select 'status' as kind, status as key, case when $by_host then host end as host, count(*) as n
from crawldb group by all
union all by name
select 'retry' as kind, cast(retries as varchar) as key, null as host, count(*) as n
from crawldb group by all
order by kind, key, n desc, host
