-- The bodies that stay.
select *
from bodies
where version <= $versions and (live or not $live_only)
