-- The least value in the first window of the rows due. To find it takes one narrow column; with it known, few whole rows
-- have to be sorted to find the window itself.
select min(sort_value) as least
from (
    select sort_value
    from due
    order by sort_value desc
    limit $size
)
