"""The least that fetching costs in Python: a bare CurlMulti loop that throws everything away. Used by fetch.py.

python peer_curl.py URLS THREADS
"""

from __future__ import annotations

import sys
from pathlib import Path

import pycurl


def main(file: str, threads: str) -> None:
    """Fetch them all."""
    urls = Path(file).read_text().split()
    multi, free = pycurl.CurlMulti(), [pycurl.Curl() for _ in range(int(threads))]
    multi.setopt(pycurl.M_MAXCONNECTS, 4 * len(free))
    begun = in_flight = 0
    while begun < len(urls) or in_flight:
        while free and begun < len(urls):
            handle, body = free.pop(), []
            handle.setopt(pycurl.URL, urls[begun])
            handle.setopt(pycurl.WRITEFUNCTION, body.append)
            multi.add_handle(handle)
            begun, in_flight = begun + 1, in_flight + 1
        multi.select(1.0)
        multi.perform()
        _, good, bad = multi.info_read()
        for handle in (*good, *(failure[0] for failure in bad)):
            multi.remove_handle(handle)
            free.append(handle)
            in_flight -= 1


if __name__ == "__main__":
    main(*sys.argv[1:])
