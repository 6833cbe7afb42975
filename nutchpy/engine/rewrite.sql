-- A bucket with its touched rows replaced and its dropped ones gone.
select *
from crawldb
where not exists (select 1 from rows where rows.url = crawldb.url)
    and not exists (select 1 from dropped where dropped.url = crawldb.url)
union all by name
select * from rows
order by host, url
