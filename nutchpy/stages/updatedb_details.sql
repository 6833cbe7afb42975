-- Of the few URLs that more is said of than that they are linked to: the newest attempt, the signature of what was
-- fetched then, what parsing said of the URL since, and the metadata that links bring. An attempt without an HTTP status
-- leaves that of the one before.
with attempts as (
    select *
    from (
        select
            crawl_fetch.*,
            parts.twin,
            parts.fresh,
            first_value(case when parts.fresh then http_status end ignore nulls) over (
                partition by url
                order by fetch_time desc, parts.round desc
                rows between unbounded preceding and unbounded following
            ) as last_http_status,
            row_number() over (partition by url order by fetch_time desc, parts.round desc) as nth
        from crawl_fetch
        join parts on parts.path = crawl_fetch.path
    )
    where nth = 1
),
-- Few rows of many, which are plain links, and so looked for once.
parsed as (
    select crawl_parse.*, parts.twin, parts.fresh, parts.round
    from crawl_parse
    join parts on parts.path = crawl_parse.path
    where kind in ('signature', 'metadata') or metadata is not null
),
signatures as (
    select url, twin, max(signature) as signature, max(fresh) as fresh
    from parsed
    where kind = 'signature'
    group by url, twin
),
described as (
    select
        url,
        min(host) as host,
        min(bucket_key) as bucket_key,
        list({'rank': cast(round as double), 'metadata': metadata}) as parse_metadata
    from parsed
    where kind = 'metadata' and fresh and metadata is not null
    group by url
),
lent as (
    select
        url,
        min(host) as host,
        min(bucket_key) as bucket_key,
        list({'rank': -cast(score as double), 'metadata': metadata}) as inlink_metadata
    from (
        select url, host, bucket_key, score, metadata
        from parsed
        where kind = 'linked' and fresh
        union all
        select url, host, bucket_key, score, metadata
        from redirects
        where metadata is not null
    )
    group by url
)
select
    coalesce(attempts.url, described.url, lent.url) as url,
    coalesce(attempts.host, described.host, lent.host) as host,
    coalesce(attempts.bucket_key, described.bucket_key, lent.bucket_key) as bucket_key,
    attempts.fresh as newly_fetched,
    signatures.fresh as newly_parsed,
    attempts.domain as attempt_domain,
    attempts.status as attempt_status,
    attempts.fetch_time as attempt_fetch_time,
    attempts.modified_time as attempt_modified_time,
    attempts.retries as attempt_retries,
    attempts.fetch_interval as attempt_fetch_interval,
    attempts.score as attempt_score,
    attempts.signature as attempt_signature,
    attempts.depth as attempt_depth,
    coalesce(attempts.http_status, attempts.last_http_status) as attempt_http_status,
    attempts.protocol_status as attempt_protocol_status,
    attempts.etag as attempt_etag,
    attempts.last_modified as attempt_last_modified,
    attempts.metadata as attempt_metadata,
    signatures.signature as new_signature,
    described.parse_metadata,
    lent.inlink_metadata
from attempts
left join signatures on signatures.url = attempts.url and signatures.twin = attempts.twin
full join described on described.url = attempts.url
full join lent on lent.url = coalesce(attempts.url, described.url)
order by bucket_key
