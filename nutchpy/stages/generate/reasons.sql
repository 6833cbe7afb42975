-- How many rows there are for each reason, and when the first of them is due.
select reason, count(*) as n, min(due_time) as next_due
from looked
group by reason
