-- one row per link known to a page
create view inlinks as
select url as to_url, link.from_url as from_url, link.anchor as anchor, score
from (select url, unnest(inlinks) as link, unnest(scores) as score from linkdb)
