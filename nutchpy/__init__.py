"""nutchpy: a Nutch-style batch crawl toolkit over Parquet tables. ARCHITECTURE.md is the map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nutchpy.core.version import VERSION

if TYPE_CHECKING:
    from nutchpy.stages.sql.crawl import open_crawl

__version__ = VERSION
__all__ = ["__version__", "open_crawl"]


def __getattr__(name: str) -> Any:
    """``open_crawl``, imported when first asked for, so that the command line starts without it."""
    if name == "open_crawl":
        from nutchpy.stages.sql.crawl import open_crawl

        return open_crawl
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
