-- one row: how far a segment got; a table not there yet is null
select
  (select count(*) from crawl_generate) as generated,
  (select min(fetch_time) from crawl_fetch) as fetcher_start,
  (select max(fetch_time) from crawl_fetch) as fetcher_end,
  (select count(*) from crawl_fetch) as fetched,
  (select count(*) from parse_data) as parsed
