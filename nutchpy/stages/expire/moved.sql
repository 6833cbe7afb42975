-- The rows of a table that belong to bodies that stay.
select rows.*
from rows
join places on places.path = rows.path
where exists (select 1 from kept where kept.url = rows.url and kept.segment = places.segment)
