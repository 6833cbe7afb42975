-- The rows that are due, whole: for scoring filters that rank by more than the score.
select *
from looked
where reason is null
