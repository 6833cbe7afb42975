-- Of each segment: how many bodies it has, how many of them stay, and how many of these are no newest ones.
select
    segment,
    count(*) as bodies,
    count(*) filter (where version <= $versions and (live or not $live_only)) as kept,
    count(*) filter (where version > 1 and version <= $versions and (live or not $live_only)) as older
from bodies
group by segment
