"""Scrapy with the settings its manual gives for broad crawls: fetch, extract links, store. Used by fetch.py.

python peer_scrapy.py URLS OUT.jsonl

Runs in an environment of its own, which needs nothing but Scrapy.
"""

import sys
from pathlib import Path

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor

SETTINGS = {
    "ROBOTSTXT_OBEY": True,
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
    "CONCURRENT_REQUESTS": 100,
    "REACTOR_THREADPOOL_MAXSIZE": 20,
    "LOG_LEVEL": "INFO",
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
    "DOWNLOAD_TIMEOUT": 15,
    "REDIRECT_ENABLED": False,
    "DOWNLOAD_DELAY": 0,
    "TELNETCONSOLE_ENABLED": False,
    "USER_AGENT": "bench",
}


class BroadSpider(scrapy.Spider):
    """Every page of a list, its links followed nowhere."""

    name = "broad"
    custom_settings = SETTINGS

    async def start(self):
        for url in Path(self.urls).read_text().split():
            yield scrapy.Request(url)

    def parse(self, response):
        links = LinkExtractor().extract_links(response)
        yield {
            "url": response.url,
            "status": response.status,
            "title": response.css("title::text").get(),
            "body": response.text,
            "links": [{"url": link.url, "text": link.text} for link in links],
        }


if __name__ == "__main__":
    urls, out = sys.argv[1:]
    process = CrawlerProcess({**SETTINGS, "FEEDS": {out: {"format": "jsonlines"}}})
    process.crawl(BroadSpider, urls=urls)
    process.start()
