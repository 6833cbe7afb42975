-- the rows a dump asks for; a null parameter asks for nothing
select * from crawldb
where ($status is null or status = $status)
  and ($retry is null or retries >= $retry)
  and ($regex is null or regexp_full_match(url, $regex))
  and ($sample is null or random() < $sample)
