-- A window of the rows due, best first: those that come after the last row of the window before.
select url, host, domain, sort_value
from due
where
    sort_value >= $least
    and (
        not $resumed
        or sort_value < $after_value
        or (sort_value = $after_value and url > $after_url)
    )
order by sort_value desc, url
limit $size
