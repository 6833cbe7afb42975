"""Serve a simulated web by an HTTP proxy of its own until interrupted:

    python -m tests.simweb --port 8888 --hosts 50000 --pages 1000000 --latency 0.1 --missing 0.02 --log hits
    nutchpy fetch … -D http.proxy.host=127.0.0.1 -D http.proxy.port=8888 -D http.proxy.resolve=remote

Its first line says the port. A line of the log is: when the request was read, when it was answered (monotonic seconds),
status (0: reset), host, path.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import ssl
from collections.abc import Iterator
from pathlib import Path

from .graph import PARAMETERS, Web
from .server import Hit, Log, Service, line_of


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser(
        "python -m tests.simweb", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bind", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--log", type=Path, help="write a line per request there")
    parser.add_argument("--certificate", type=Path, help="PEM file with key: CONNECT is answered, every host has TLS")
    parser.add_argument("--urls", type=int, metavar="N", help="print the home pages of the first N hosts, and end")
    web = parser.add_argument_group("the web (what each means stands in graph.py)")
    for name, default in PARAMETERS.items():
        web.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default, help=f"{default}")
    options = parser.parse_args()
    chosen = Web(**{name: getattr(options, name) for name in PARAMETERS})
    if options.urls is not None:
        print("\n".join(chosen.url(number) for number in range(min(options.urls, chosen.hosts))))
        return
    with logged(options.log) as log:
        asyncio.run(serve(chosen, log, options))


@contextlib.contextmanager
def logged(path: Path | None) -> Iterator[Log]:
    """What takes the hits."""
    if path is None:
        yield lambda _hit: None
        return
    with path.open("w", encoding="utf-8", buffering=1 << 16) as file:

        def log(hit: Hit) -> None:
            file.write(line_of(hit))

        yield log


async def serve(web: Web, log: Log, options: argparse.Namespace) -> None:
    """Serve until a signal comes."""
    tls = None
    if options.certificate is not None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(options.certificate)
    service = Service(web, log, tls)
    print(await service.listen(options.bind, options.port), flush=True)
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    await ended.wait()
    await service.close()


if __name__ == "__main__":
    main()
