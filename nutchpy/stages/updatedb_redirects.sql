-- Redirects that are news, with what they hand to their target; in the order of the segments.
select
    crawl_fetch.redirect_to as url,
    crawl_fetch.score,
    crawl_fetch.depth,
    crawl_fetch.fetch_interval,
    crawl_fetch.metadata
from crawl_fetch
join parts on parts.path = crawl_fetch.path
left join crawldb on crawldb.url = crawl_fetch.url
where crawl_fetch.redirect_to is not null
    and parts.fresh
    and (
        crawldb.fetch_time is null
        or crawldb.fetch_time < crawl_fetch.fetch_time
        or ($again and crawldb.fetch_time = crawl_fetch.fetch_time)
    )
