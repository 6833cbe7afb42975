-- What the links of URLs with very many of them add up to: of each, those with the highest scores count.
-- crawl_parse is here what the crawldb has not consumed yet.
with links as (
    select crawl_parse.url, score
    from crawl_parse
    join crowded on crowded.url = crawl_parse.url
    where kind = 'linked' and bucket_key between $first and $last
    union all
    select redirects.url, score
    from redirects
    join crowded on crowded.url = redirects.url
),
ranked as (
    select
        url,
        cast(case when isfinite(score) then least(greatest(score, -1e15), 1e15) end as decimal(28, 12)) as share,
        row_number() over (partition by url order by score desc) as nth
    from links
)
select
    url,
    cast(
        case $aggregate
            when 'sum' then coalesce(sum(share) filter (where nth <= $max_inlinks), 0)
            when 'max' then max(share)
            when 'min' then min(share) filter (where nth <= $max_inlinks)
        end as double
    ) as inlink_score
from ranked
group by url
