-- one row: everything readdb -stats prints but the counts per status and retry
select
  count(*) as total,
  min(fetch_interval) as shortest_interval,
  avg(fetch_interval) as average_interval,
  max(fetch_interval) as longest_interval,
  min(date_trunc('minute', due_time)) as earliest_due,
  avg(epoch(date_trunc('minute', due_time))) as average_due,
  max(date_trunc('minute', due_time)) as latest_due,
  quantile_disc(score, $quantiles) as quantiles,
  min(score) as min_score,
  avg(cast(score as double)) as average_score,
  max(score) as max_score,
  count(*) filter (isnan(score)) as nan_scores
from crawldb
