-- one row per link kept on a parsed page
create view outlinks as
select segment, url as from_url, link.url as to_url, link.anchor as anchor, link.rel as rel
from (select segment, url, unnest(outlinks) as link from parse_data)
