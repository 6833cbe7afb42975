-- The seeds of a bucket, each URL once, as it was said last.
select
    url,
    host,
    domain as seed_domain,
    score as seed_score,
    fetch_interval as seed_interval,
    metadata as seed_metadata
from (
    select *, row_number() over (partition by url order by seq desc) as nth
    from seeds
)
where nth = 1
