-- The rows of a part without those of bodies that go.
select *
from rows
where url in (select url from stays)
