"""nutchpy: a Nutch-style batch crawl toolkit over Parquet tables. ARCHITECTURE.md is the map."""

__version__ = "0.1.0"
