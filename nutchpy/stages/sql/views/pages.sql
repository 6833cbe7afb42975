-- one row per URL with a body: its newest successful fetch (across 304s, the body they vouch for), as the crawldb has it now
create view pages as
select
  f.url, f.host, f.domain, d.status, d.score, d.depth, d.due_time,
  f.fetch_time, d.fetch_time as last_attempt, d.modified_time, f.http_status,
  t.title, x.text, t.language, t.charset, t.parse_status, t.outlinks, t.parse_meta,
  c.content_type, c.content, c.headers, c.truncated, d.signature, f.segment
from (
  select * from (
    select url, host, domain, fetch_time, http_status, segment,
           row_number() over (partition by url order by fetch_time desc, segment desc) as newest
    from crawl_fetch where status = 'fetch_success'
  ) where newest = 1
) f
left join crawldb d on d.url = f.url
left join content c on c.url = f.url and c.segment = f.segment
left join parse_data t on t.url = f.url and t.segment = f.segment
left join parse_text x on x.url = f.url and x.segment = f.segment
