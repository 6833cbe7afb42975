-- What is news in a bucket, in the order of its rows.
select *
from touched
order by host, url
