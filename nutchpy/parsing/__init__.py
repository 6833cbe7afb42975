"""Parsing: from bodies to the rows of the parse tables, in worker processes that may be killed.

Used by the parse stage, and by the fetcher when it parses. Names are imported from their modules: what drives a pool
needs nothing of what its workers are made of.

    with ParsePool(conf) as pool:                                   # pool.py: no threads; fits any event loop
        pool.submit(PagesJob([PageInput(content, score, depth)]), token)
        ... select on pool.fileno() until pool.deadline(), then
        for done in pool.step():
            [parsed] = done.answer                                  # ParsedPage: status, outlinks, links, signature, …
            counters += done.counters

    tables = rows.tables([parsed, …])                               # parse_text, parse_data, crawl_parse in Arrow
    output.write_parts(segment, name, tables)                       # published in that order; crawl_parse commits

``PageParser(conf).parse(PageInput(…))`` does one page in this process, for checkers and tests.
"""
