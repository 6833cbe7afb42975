-- Rows of a bucket that go, and rows that come in their place under another URL (moved rows, normalized anew).
select crawldb.*, false as arrives
from crawldb
where (status = 'db_gone' and $purge_gone)
    or (status = 'db_orphan' and $purge_orphans)
    or exists (select 1 from moved where moved.old_url = crawldb.url)
union all
select
    moved.url,
    moved.host,
    moved.domain,
    moved.status,
    moved.due_time,
    moved.fetch_time,
    moved.modified_time,
    moved.retries,
    moved.fetch_interval,
    moved.score,
    moved.signature,
    moved.depth,
    moved.http_status,
    moved.protocol_status,
    moved.etag,
    moved.last_modified,
    moved.first_seen,
    moved.metadata,
    true as arrives
from (
    select *, row_number() over (partition by url order by old_url) as nth
    from moved
    where url is not null and bucket_key between $first and $last
) as moved
where nth = 1 and not exists (select 1 from crawldb where crawldb.url = moved.url)
