-- Every body of a page, the versions of a URL numbered from the newest. live: the crawldb does not say that it is gone.
with body as (
    select content.url, places.segment, content.fetch_time
    from content
    join places on places.path = content.path
    where exists (
        select 1
        from crawl_fetch
        where
            crawl_fetch.url = content.url
            and crawl_fetch.fetch_time = content.fetch_time
            and crawl_fetch.status = 'fetch_success'
    )
)
select
    url,
    segment,
    cast(row_number() over (partition by url order by fetch_time desc, segment desc) as integer) as version,
    exists (
        select 1
        from crawldb
        where crawldb.url = body.url and crawldb.status not in ('db_gone', 'db_orphan')
    ) as live
from body
