-- Rows of a bucket that go, and rows that come in their place under another URL (moved rows, normalized anew).
with leaving as (
    select url, host
    from crawldb
    where (status = 'db_gone' and $purge_gone)
        or (status = 'db_orphan' and $purge_orphans)
        or exists (select 1 from moved where moved.old_url = crawldb.url)
),
arriving as (
    select *, row_number() over (partition by url order by old_url) as nth
    from moved
    where url is not null and bucket_key between $first and $last
)
select
    coalesce(leaving.url, arriving.url) as url,
    coalesce(leaving.host, arriving.host) as host,
    leaving.url is not null as leaves,
    arriving.domain as new_domain,
    arriving.status as new_status,
    arriving.due_time as new_due_time,
    arriving.fetch_time as new_fetch_time,
    arriving.modified_time as new_modified_time,
    arriving.retries as new_retries,
    arriving.fetch_interval as new_fetch_interval,
    arriving.score as new_score,
    arriving.signature as new_signature,
    arriving.depth as new_depth,
    arriving.http_status as new_http_status,
    arriving.protocol_status as new_protocol_status,
    arriving.etag as new_etag,
    arriving.last_modified as new_last_modified,
    arriving.first_seen as new_first_seen,
    arriving.metadata as new_metadata
from leaving
full join (select * from arriving where nth = 1) as arriving on arriving.url = leaving.url
