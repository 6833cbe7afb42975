-- The URLs of a part whose bodies stay. What redirects brought is no body of a page: it goes with age.
select rows.url
from rows
where
    exists (
        select 1
        from bodies
        where
            bodies.url = rows.url
            and bodies.segment = $segment
            and bodies.version <= $versions
            and (bodies.live or not $live_only)
    )
    or (not $live_only and not exists (select 1 from bodies where bodies.url = rows.url and bodies.segment = $segment))
