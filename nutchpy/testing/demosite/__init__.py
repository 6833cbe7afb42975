"""The demo site: about a hundred pages on three "hosts", with most of what real servers do to a crawler.

The handbook stands on ``localhost``, the journal and the archive on two ports of ``127.0.0.1``: loopback has no other
names that every system knows, and these make two hosts (and three robots.txt). pages.py makes the pages.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Final

from nutchpy.testing.demosite.pages import archive_site, handbook_site, journal_site
from nutchpy.testing.site import Site
from nutchpy.testing.site_server import AccessLog, SiteServer

PORTS: Final = (8801, 8802, 8803)
"""The ports that sample_seeds/demo.txt names, of handbook, journal and archive."""


@contextlib.contextmanager
def demo_servers(ports: Sequence[int] = (0, 0, 0), log: AccessLog | None = None) -> Iterator[list[SiteServer]]:
    """Serve handbook, journal and archive, in this order; they share one access log."""
    log = log if log is not None else AccessLog()
    with contextlib.ExitStack() as stack:
        names = ("localhost", "127.0.0.1", "127.0.0.1")
        servers = [
            stack.enter_context(SiteServer(Site(), name=name, port=port, log=log))
            for name, port in zip(names, ports, strict=True)
        ]
        handbook, journal, archive = (server.base for server in servers)
        servers[0].site.update(handbook_site(handbook, journal, archive))
        servers[1].site.update(journal_site(handbook, journal))
        servers[2].site.update(archive_site(handbook, archive))
        yield servers
