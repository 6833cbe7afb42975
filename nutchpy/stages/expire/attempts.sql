-- Every attempt in segments that go, and those that they remembered of segments that went before.
with signature as (
    select places.segment, crawl_parse.url, max(crawl_parse.signature) as signature
    from crawl_parse
    join places on places.path = crawl_parse.path
    where crawl_parse.kind = 'signature'
    group by places.segment, crawl_parse.url
)
select
    crawl_fetch.url,
    crawl_fetch.host,
    crawl_fetch.domain,
    places.name as of_segment,
    crawl_fetch.fetch_time,
    crawl_fetch.status,
    crawl_fetch.http_status,
    crawl_fetch.protocol_status,
    crawl_fetch.redirect_to,
    signature.signature
from crawl_fetch
join places on places.path = crawl_fetch.path
left join signature on signature.segment = places.segment and signature.url = crawl_fetch.url
where not places.compacted
union all
select * from attempts
order by fetch_time, url
