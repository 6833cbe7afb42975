select * from crawldb anti join touched using (url)
union all by name
select * from rows
order by host, url
