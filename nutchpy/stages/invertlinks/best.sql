-- Of each URL's links the best: from pages of a higher score; among equals, one of each domain before its second one;
-- then from shorter URLs. What does not make it now never would, whatever links are still to come.
select url, host, from_url, anchor, score
from (
    select
        *,
        row_number() over (partition by url order by score desc, nth, length(from_url), from_url, anchor) as place
    from (
        select
            *,
            row_number() over (partition by url, domain order by score desc, length(from_url), from_url, anchor) as nth
        from links
    )
)
where place <= $most
order by host, url, from_url, anchor
