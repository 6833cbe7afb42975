-- The rows of a bucket that are duplicates.
select *
from crawldb
where exists (select 1 from duplicates where duplicates.url = crawldb.url)
