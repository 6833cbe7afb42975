"""Progress: a line each ten seconds where there is no terminal, a bar where there is."""

import logging
import os
import pty
import select
import subprocess
import sys

import pytest

from nutchpy.cli.progress import Lines, Quiet, shown


def test_lines_come_every_ten_seconds(caplog: pytest.LogCaptureFixture) -> None:
    clock = [0.0]
    lines = Lines(lambda: clock[0])
    with caplog.at_level(logging.INFO):
        for second in range(35):
            clock[0] = float(second)
            lines.update(second * 1000, 35_000, "" if second < 25 else "a status of its own")
    assert [record.getMessage() for record in caplog.records] == [
        "10,000 of 35,000",
        "20,000 of 35,000",
        "a status of its own",
    ]


def test_what_is_shown_depends_on_where_it_goes() -> None:
    assert isinstance(shown(quiet=True), Quiet)
    assert isinstance(shown(quiet=False), Lines)  # pytest has taken the terminal away


def test_a_terminal_gets_a_bar_on_stderr() -> None:
    code = (
        "import time; from nutchpy.cli.progress import shown; bar = shown(False)\n"
        "for n in range(4): bar.update(n, 4, '[busy]'); time.sleep(0.15)\n"
        "bar.close(); print('result')"
    )
    master, slave = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=slave, env=env) as process:
        os.close(slave)
        out, _ = process.communicate(timeout=60)
    drawn = b""
    while select.select([master], [], [], 0.2)[0]:
        try:
            drawn += os.read(master, 65536)
        except OSError:
            break
    os.close(master)
    assert out == b"result\n"
    assert b"3/4" in drawn
    assert b"[busy]" in drawn
