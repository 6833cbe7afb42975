-- Rows whose status lets them stay no longer, whatever the segments say.
select url, host
from crawldb
where status in (select status from statuses)
