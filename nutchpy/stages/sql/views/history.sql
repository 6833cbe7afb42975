-- one row per attempt in any segment, and what it meant for whoever follows the page:
-- (attempts of segments that expired are known from the compacted segment that stands for them);
-- event is new | changed | unchanged | redirected | gone | failed | unparsed, and changed says whether it is news
create view history as
select
  url, host, domain, fetch_time, status, http_status, protocol_status, redirect_to, signature, segment, event,
  case when event = 'unparsed' then null
       when event in ('new', 'changed') then true
       when event in ('gone', 'redirected') then last_lasting is not null and lasting <> last_lasting
       else false end as changed
from (
  select *,
    case
      when status = 'fetch_notmodified' then 'unchanged'
      when status = 'fetch_success' and last_signature is null and last_lasting is null then 'new'
      when status = 'fetch_success' and signature is null then 'unparsed'
      when status = 'fetch_success' and last_lasting is distinct from 'page' then 'changed'
      when status = 'fetch_success' and signature is distinct from last_signature then 'changed'
      when status = 'fetch_success' then 'unchanged'
      when status = 'fetch_gone' then 'gone'
      when lasting is not null then 'redirected'
      else 'failed'
    end as event
  from (
    select *,
      last_value(lasting ignore nulls) over earlier as last_lasting,
      last_value(signature ignore nulls) over earlier as last_signature
    from (
      select *,
        case when status in ('fetch_success', 'fetch_notmodified') then 'page'
             when status = 'fetch_gone' then 'gone'
             when status in ('fetch_redir_temp', 'fetch_redir_perm') then 'to ' || coalesce(redirect_to, '')
        end as lasting
      from (
        select f.*, s.signature
        from (
          select url, host, domain, fetch_time, status, http_status, protocol_status, redirect_to, segment from crawl_fetch
          where segment not in (select segment from attempts)
        ) f
        left join (
          select segment, url, any_value(signature) as signature from crawl_parse where kind = 'signature' group by segment, url
        ) s on s.segment = f.segment and s.url = f.url
        union all
        select url, host, domain, fetch_time, status, http_status, protocol_status, redirect_to, of_segment, signature
        from attempts
      )
    )
    window earlier as (partition by url order by fetch_time rows between unbounded preceding and 1 preceding)
  )
)
