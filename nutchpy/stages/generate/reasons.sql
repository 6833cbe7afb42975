-- How many rows there are for each reason, and when the first of them is due that nothing else speaks against.
select reason, count(*) as n, min(case when barred is null then due_time end) as next_due
from looked
group by reason
