, due as (
    select url, host, domain, score as sort_value
    from looked
    where reason is null
)
