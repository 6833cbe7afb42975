-- The links to the URLs of a bucket that new ones came for, old and new, by their targets; of equal ones the best first.
select url, host, from_url, anchor, score
from links
union all
select old.url, old.host, old.inlink.from_url, old.inlink.anchor, coalesce(old.score, 0)
from (
    select linkdb.url, linkdb.host, unnest(linkdb.inlinks) as inlink, unnest(linkdb.scores) as score
    from linkdb
    where linkdb.url in (select links.url from links)
) as old
order by host, url, from_url, anchor, score desc
