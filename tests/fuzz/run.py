"""Coverage-guided fuzzing of one target, by hand: ``python tests/fuzz/run.py TARGET [SECONDS] [FOLDER]``.

Needs atheris (``pip install -e '.[fuzz]'``). FOLDER keeps the inputs that reached new code, to go on from another time.
Ends with a trace at the first input that breaks a promise, takes more than a second, or a gigabyte; the input is left
in the present folder, and becomes a test.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import atheris

SLOW = 1.0
MEGABYTES = 2048

with atheris.instrument_imports(include=["nutchpy"]):
    from seeds import SEEDS, WORDS
    from targets import TARGETS


def main(name: str, seconds: int, folder: Path) -> None:
    """Fuzz until time is over; libFuzzer ends the process."""
    target = TARGETS[name]
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS[name]):
        (folder / f"seed-{number}").write_bytes(seed)
    words = folder.parent / f"{name}.dict"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in WORDS))

    def one(data: bytes) -> None:
        start = time.process_time()
        target(data)
        took = time.process_time() - start
        assert took < SLOW, f"{took:.2f} s for {len(data)} bytes"

    options = [f"-dict={words}", f"-max_total_time={seconds}", f"-rss_limit_mb={MEGABYTES}", "-max_len=8192"]
    atheris.Setup([sys.argv[0], *options, "-timeout=20", "-print_final_stats=1", str(folder)], one)
    atheris.Fuzz()


def _escaped(word: str) -> str:
    return word.replace("\\", "\\\\").replace('"', '\\"')


if __name__ == "__main__":
    given = Path(sys.argv[3]) if len(sys.argv) > 3 else Path(tempfile.mkdtemp()) / sys.argv[1]
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60, given)
