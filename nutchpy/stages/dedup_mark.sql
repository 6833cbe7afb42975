-- The duplicates in a bucket.
select duplicates.url, duplicates.host
from duplicates
inner join parts on parts.path = duplicates.path
