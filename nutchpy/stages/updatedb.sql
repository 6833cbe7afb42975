-- One row per URL of a bucket that the segments' parts touch: what its new links say, and what came of fetching it.
with links as (
    select url, host, score, depth, metadata, null as fetch_interval
    from crawl_parse
    join parts on parts.path = crawl_parse.path
    where kind = 'linked' and parts.fresh and bucket_key between $first and $last
    union all
    select url, host, score, depth, metadata, fetch_interval
    from redirects
    where bucket_key between $first and $last
),
-- Sums of decimals do not depend on the order in which threads come; scores beyond 1e15 count as that.
shared as (
    select
        *,
        cast(case when isfinite(score) then least(greatest(score, -1e15), 1e15) end as decimal(28, 12)) as share
    from links
),
linked as (
    select
        url,
        min(host) as host,
        count(*) as links,
        cast(
            case $aggregate when 'sum' then sum(share) when 'max' then max(share) when 'min' then min(share) end as double
        ) as inlink_score,
        min(depth) as inlink_depth,
        min(fetch_interval) as inlink_interval,
        list({'rank': -cast(score as double), 'metadata': metadata}) filter (where metadata is not null) as inlink_metadata
    from shared
    group by url
),
mine as (
    select *
    from fetched
    where bucket_key between $first and $last
),
purged as (
    select url, host
    from crawldb
    where (status = 'db_gone' and $purge_gone) or (status = 'db_orphan' and $purge_orphans)
)
select
    coalesce(linked.url, mine.url, purged.url) as url,
    coalesce(linked.host, mine.host, purged.host) as host,
    coalesce(links, 0) as links,
    inlink_score,
    inlink_depth,
    inlink_interval,
    inlink_metadata,
    newly_fetched,
    newly_parsed,
    attempt_domain,
    attempt_status,
    attempt_fetch_time,
    attempt_modified_time,
    attempt_retries,
    attempt_fetch_interval,
    attempt_score,
    attempt_signature,
    attempt_depth,
    attempt_http_status,
    attempt_protocol_status,
    attempt_etag,
    attempt_last_modified,
    attempt_metadata,
    new_signature,
    parse_metadata
from linked
full join mine on mine.url = linked.url
full join purged on purged.url = coalesce(linked.url, mine.url)
