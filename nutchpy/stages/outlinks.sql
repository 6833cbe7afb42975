-- One row per link of the pages parsed.
select page.url as from_url, page.link.url as url, page.link.anchor as anchor
from (
    select url, unnest(outlinks) as link
    from parse_data
) as page
