-- The details of a bucket's URLs, in the order of its rows.
select *
from details
where bucket_key between $first and $last
order by host, url
