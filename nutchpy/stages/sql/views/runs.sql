-- one row per stage run
create view runs as
select * from run_lines where stage is not null
