-- One row per link of the pages parsed, with the score that its page was fetched with.
select page.url as from_url, page.link.url as url, page.link.anchor as anchor, page.score
from (
    select parse_data.url, unnest(parse_data.outlinks) as link, coalesce(crawl_fetch.score, 0) as score
    from parse_data
    left join crawl_fetch on crawl_fetch.url = parse_data.url
) as page
