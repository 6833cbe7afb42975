-- one row per segment: how far it got
create view segments as
select
  s.segment, s.created, s.lists, s.fetch_state, s.parse_state,
  coalesce(g.rows, 0) as generated, coalesce(f.rows, 0) as fetched, coalesce(f.successes, 0) as successes,
  f.first_fetch, f.last_fetch, coalesce(p.rows, 0) as parsed, s.uuid
from segment_states s
left join (select segment, count(*) as rows from crawl_generate group by segment) g using (segment)
left join (
  select segment, count(*) as rows, count(*) filter (status = 'fetch_success') as successes,
         min(fetch_time) as first_fetch, max(fetch_time) as last_fetch
  from crawl_fetch group by segment
) f using (segment)
left join (select segment, count(*) as rows from parse_data group by segment) p using (segment)
