-- The crawldb row that each seed of a bucket leads to. Seeds that leave their row as it is do not appear.
with seed as (
    select *
    from (
        select *, row_number() over (partition by url order by seq desc) as nth
        from seeds
        where bucket_key between $first and $last
    )
    where nth = 1
),
pair as (
    select
        seed.url,
        seed.host,
        seed.domain,
        seed.score as seed_score,
        seed.fetch_interval as seed_interval,
        seed.metadata as seed_metadata,
        old.status,
        old.due_time,
        old.fetch_time,
        old.modified_time,
        old.retries,
        old.fetch_interval,
        old.score,
        old.signature,
        old.depth,
        old.http_status,
        old.protocol_status,
        old.etag,
        old.last_modified,
        old.first_seen,
        old.metadata,
        old.url is null as is_new,
        old.url is null or $overwrite as fresh
    from seed
    left join crawldb as old on old.url = seed.url
)
select
    url,
    host,
    domain,
    case when fresh then 'db_unfetched' else status end as status,
    case when fresh then $now else due_time end as due_time,
    case when fresh then null else fetch_time end as fetch_time,
    case when fresh then null else modified_time end as modified_time,
    case when fresh then 0 else retries end as retries,
    case
        when fresh or ($update and seed_interval <> $interval) then seed_interval
        else fetch_interval
    end as fetch_interval,
    case when fresh or ($update and seed_score <> cast($score as real)) then seed_score else score end as score,
    case when fresh then null else signature end as signature,
    0 as depth,
    case when fresh then null else http_status end as http_status,
    case when fresh then null else protocol_status end as protocol_status,
    case when fresh then null else etag end as etag,
    case when fresh then null else last_modified end as last_modified,
    coalesce(first_seen, $now) as first_seen,
    case
        when fresh or ($update and metadata is null) then seed_metadata
        when $update and seed_metadata is not null then map_concat(metadata, seed_metadata)
        else metadata
    end as metadata,
    is_new
from pair
where fresh or $update or depth > 0
