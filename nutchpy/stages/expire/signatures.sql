-- The same of the update feed: what other pages said of them was applied.
select crawl_parse.*
from crawl_parse
join places on places.path = crawl_parse.path
where
    crawl_parse.kind = 'signature'
    and exists (select 1 from kept where kept.url = crawl_parse.url and kept.segment = places.segment)
order by bucket_key, url
