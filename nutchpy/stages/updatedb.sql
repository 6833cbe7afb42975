-- One row per URL of a bucket that the segments' parts touch: its present row (known), its newest attempt when that is
-- news (attempted), the signature of what was fetched then, and what its new links and parse metadata say.
with attempts as (
    select *
    from (
        select
            crawl_fetch.*,
            parts.twin,
            parts.fresh,
            row_number() over (partition by url order by fetch_time desc, parts.round desc) as nth
        from crawl_fetch
        join parts on parts.path = crawl_fetch.path
        where bucket_key between $first and $last
    )
    where nth = 1
),
signatures as (
    select url, parts.twin, max(signature) as signature, max(parts.fresh) as fresh
    from crawl_parse
    join parts on parts.path = crawl_parse.path
    where kind = 'signature' and bucket_key between $first and $last
    group by url, parts.twin
),
links as (
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
crowded as (
    select url from shared group by url having count(*) > $max_inlinks
),
ranked as (
    select *, cast(1 as bigint) as nth
    from shared
    where url not in (select url from crowded)
    union all
    select *, row_number() over (partition by url order by score desc) as nth
    from shared
    where url in (select url from crowded)
),
linked as (
    select
        url,
        min(host) as host,
        cast(
            case $aggregate
                when 'sum' then sum(share) filter (where nth <= $max_inlinks)
                when 'max' then max(share)
                when 'min' then min(share) filter (where nth <= $max_inlinks)
            end as double
        ) as inlink_score,
        min(depth) as inlink_depth,
        min(fetch_interval) as inlink_interval,
        list({'rank': -cast(score as double), 'metadata': metadata}) filter (where metadata is not null) as inlink_metadata
    from ranked
    group by url
),
described as (
    select url, list({'rank': cast(parts.round as double), 'metadata': metadata}) as parse_metadata
    from crawl_parse
    join parts on parts.path = crawl_parse.path
    where kind = 'metadata' and parts.fresh and metadata is not null and bucket_key between $first and $last
    group by url
),
touched as (
    select url from attempts
    union
    select url from linked
    union
    select url from described
    union
    select url
    from crawldb
    where (status = 'db_gone' and $purge_gone) or (status = 'db_orphan' and $purge_orphans)
),
joined as (
    select
        touched.url,
        coalesce(crawldb.host, attempts.host, linked.host) as host,
        crawldb.url is not null as known,
        crawldb.domain,
        crawldb.status,
        crawldb.due_time,
        crawldb.fetch_time,
        crawldb.modified_time,
        crawldb.retries,
        crawldb.fetch_interval,
        crawldb.score,
        crawldb.signature,
        crawldb.depth,
        crawldb.http_status,
        crawldb.protocol_status,
        crawldb.etag,
        crawldb.last_modified,
        crawldb.first_seen,
        crawldb.metadata,
        coalesce(
            (
                attempts.fresh
                and (
                    crawldb.fetch_time is null
                    or crawldb.fetch_time < attempts.fetch_time
                    or ($again and crawldb.fetch_time = attempts.fetch_time)
                )
            )
            or (signatures.fresh and crawldb.fetch_time = attempts.fetch_time),
            false
        ) as attempted,
        attempts.domain as attempt_domain,
        attempts.status as attempt_status,
        attempts.fetch_time as attempt_fetch_time,
        attempts.modified_time as attempt_modified_time,
        attempts.retries as attempt_retries,
        attempts.fetch_interval as attempt_fetch_interval,
        attempts.score as attempt_score,
        attempts.signature as attempt_signature,
        attempts.depth as attempt_depth,
        attempts.http_status as attempt_http_status,
        attempts.protocol_status as attempt_protocol_status,
        attempts.etag as attempt_etag,
        attempts.last_modified as attempt_last_modified,
        attempts.metadata as attempt_metadata,
        signatures.signature as new_signature,
        linked.url is not null as is_linked,
        linked.inlink_score,
        linked.inlink_depth,
        linked.inlink_interval,
        linked.inlink_metadata,
        described.parse_metadata
    from touched
    left join crawldb on crawldb.url = touched.url
    left join attempts on attempts.url = touched.url
    left join signatures on signatures.url = touched.url and signatures.twin = attempts.twin
    left join linked on linked.url = touched.url
    left join described on described.url = touched.url
)
-- Left out: unknown URLs where nothing may be added, and known rows to which the news makes no difference.
select *
from joined
where case
    when not known then $additions and (attempted or is_linked)
    else
        attempted
        or parse_metadata is not null
        or inlink_metadata is not null
        or inlink_score is not null
        or inlink_depth < depth
        or (inlink_interval < fetch_interval and fetch_time is null)
        or (status = 'db_gone' and $purge_gone)
        or (status = 'db_orphan' and $purge_orphans)
end
