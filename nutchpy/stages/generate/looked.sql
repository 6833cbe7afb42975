-- The crawldb with the first reason for which a row is not listed; null when it is due. barred is what speaks against it
-- whatever its due time. The true in parentheses is where -expr goes.
with weighed as (
    select
        *,
        due_time > $until + least($window, fetch_interval / 10) * interval '1' second and due_time <= $far as waits,
        case
            when exists (select 1 from pending where pending.url = crawldb.url) then 'pending'
            when not coalesce((true), false) then 'expr'
            when $status <> '' and status <> $status then 'status'
            when score < $min_score then 'min_score'
            when $min_interval >= 0 and fetch_interval > $min_interval then 'min_interval'
        end as barred
    from crawldb
),
looked as (
    select *, case when waits then 'not_due' else barred end as reason
    from weighed
)
