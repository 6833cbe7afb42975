-- The rows chosen, as they go into the fetch lists. A due time too far ahead is pulled to now, its interval shortened.
with placed as (
    select
        selected.url,
        selected.segment,
        selected.spread,
        queues.queue_id,
        queues.list,
        row_number() over (
            partition by selected.segment, queues.queue_id
            order by selected.sort_value desc, selected.url
        ) as turn,
        count(*) over (partition by selected.segment, queues.queue_id) as queue_size
    from selected
    inner join queues on queues.segment = selected.segment and queues.host = selected.host
)
select
    crawldb.url,
    crawldb.host,
    crawldb.domain,
    crawldb.status,
    case when crawldb.due_time > $far then $now else crawldb.due_time end as due_time,
    crawldb.fetch_time,
    crawldb.modified_time,
    crawldb.retries,
    case
        when crawldb.due_time > $far and crawldb.fetch_interval > $max_interval then cast($max_interval * 0.9 as integer)
        else crawldb.fetch_interval
    end as fetch_interval,
    crawldb.score,
    crawldb.signature,
    crawldb.depth,
    crawldb.http_status,
    crawldb.protocol_status,
    crawldb.etag,
    crawldb.last_modified,
    crawldb.first_seen,
    crawldb.metadata,
    placed.queue_id,
    placed.list,
    placed.segment,
    placed.turn,
    placed.queue_size,
    placed.spread
from placed
inner join crawldb on crawldb.url = placed.url
