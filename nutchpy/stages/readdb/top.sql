-- the best-scoring URLs
select score, url from crawldb
where score >= $min_score
order by score desc, url
limit $n
