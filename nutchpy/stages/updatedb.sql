-- One row per URL of a bucket that the segments' parts touch: what its new links say, and whether there are details.
-- crawl_parse is here what the crawldb has not consumed yet.
with links as (
    select url, host, score, depth, null as fetch_interval
    from crawl_parse
    where kind = 'linked' and bucket_key between $first and $last
    union all
    select url, host, score, depth, fetch_interval
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
        min(fetch_interval) as inlink_interval
    from shared
    group by url
),
mine as (
    select url, host
    from details
    where bucket_key between $first and $last
)
select
    coalesce(linked.url, mine.url, purged.url) as url,
    coalesce(linked.host, mine.host, purged.host) as host,
    coalesce(links, 0) as links,
    inlink_score,
    inlink_depth,
    inlink_interval,
    mine.url is not null as detailed
from linked
full join mine on mine.url = linked.url
full join purged on purged.url = coalesce(linked.url, mine.url)
