-- How many rows of a part go: those that pruned.sql leaves out.
select count(*) as n
from rows
where not (
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
)
