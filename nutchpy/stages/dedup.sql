-- Rows that hold the same content as a better row. Keys k1 to k4 are compared in turn, the least wins, at last the URL.
with repeated as (
    select signature, case $group when 'host' then host when 'domain' then domain else '' end as place
    from crawldb
    where status in ('db_fetched', 'db_notmodified') and signature is not null
    group by signature, place
    having count(*) > 1
),
candidates as (
    select
        url,
        host,
        path,
        crawldb.signature,
        repeated.place,
        -cast(score as double) as by_score,
        -extract(epoch from fetch_time) as by_time,
        -- Characters after percent-decoding: continuation bytes of UTF-8 do not count, other escapes count as one.
        length(
            regexp_replace(
                regexp_replace(url, '%[89ABab][0-9A-Fa-f]', '', 'g'), '%[0-9A-Fa-f][0-9A-Fa-f]', '_', 'g'
            )
        ) as by_length,
        regexp_replace(url, '^https?:', '') as address,
        case when url like 'https:%' then 1 else 0 end as secure
    from crawldb
    inner join repeated
        on repeated.signature = crawldb.signature
        and repeated.place = case $group when 'host' then host when 'domain' then domain else '' end
    where status in ('db_fetched', 'db_notmodified')
),
keyed as (
    select
        candidates.*,
        case $k1 when 'score' then by_score when 'fetchTime' then by_time when 'urlLength' then by_length end as k1,
        case $k2 when 'score' then by_score when 'fetchTime' then by_time when 'urlLength' then by_length end as k2,
        case $k3 when 'score' then by_score when 'fetchTime' then by_time when 'urlLength' then by_length end as k3,
        case $k4 when 'score' then by_score when 'fetchTime' then by_time when 'urlLength' then by_length end as k4
    from candidates
),
-- An http URL yields to the same address by https, when nothing compared before has told them apart.
yielding as (
    select
        *,
        case
            when secure = 0 then max(secure) over (
                partition by
                    signature,
                    place,
                    address,
                    case when $https_at > 1 then k1 end,
                    case when $https_at > 2 then k2 end,
                    case when $https_at > 3 then k3 end
            )
            else 0
        end as yields
    from keyed
),
ranked as (
    select
        url,
        host,
        path,
        row_number() over (
            partition by signature, place
            order by
                case when $https_at = 1 then yields else k1 end,
                case when $https_at = 2 then yields else k2 end,
                case when $https_at = 3 then yields else k3 end,
                case when $https_at = 4 then yields else k4 end,
                url
        ) as nth
    from yielding
)
select url, host, path
from ranked
where nth > 1
