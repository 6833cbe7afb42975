-- A bucket of the linkdb with new links in it. Links are a set; of a URL with too many, those from the shortest URLs
-- stay: an order that does not depend on when a link came, so that segments may come one by one or all at once.
with touched as (
    select distinct url
    from links
),
link as (
    select url, host, from_url, anchor
    from links
    union
    select old.url, old.host, old.inlink.from_url as from_url, old.inlink.anchor as anchor
    from (
        select linkdb.url, linkdb.host, unnest(linkdb.inlinks) as inlink
        from linkdb
        where linkdb.url in (select url from touched)
    ) as old
),
crowded as (
    select url
    from link
    group by url
    having count(*) > $max_inlinks
),
kept as (
    select url, host, from_url, anchor
    from link
    where url not in (select url from crowded)
    union all
    select url, host, from_url, anchor
    from (
        select *, row_number() over (partition by url order by length(from_url), from_url, anchor) as place
        from link
        where url in (select url from crowded)
    )
    where place <= $max_inlinks
)
select url, host, inlinks
from linkdb
where url not in (select url from touched)
union all
select
    url,
    min(host) as host,
    array_agg(struct_pack(from_url := from_url, anchor := anchor) order by from_url, anchor) as inlinks
from kept
group by url
order by host, url
