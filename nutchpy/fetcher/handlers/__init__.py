"""The shipped handlers, by the names that ``fetcher.pipeline`` knows them by."""
