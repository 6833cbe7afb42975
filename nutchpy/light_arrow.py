"""How Arrow is loaded: without numpy, which takes longer to load than all the rest of a small command together.

For processes that hand no Arrow batches to plugins: there, ``to_numpy`` and ``to_pandas`` of Arrow are not to be had.
numpy itself is there afterwards, for whoever imports it. What Arrow does with memory is settled before that, too.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module


def load_arrow(module: str = "pyarrow") -> None:
    """Load Arrow, or a module of it, as where there is no numpy; as usual in a process that has either already.

    ``pyarrow.compute`` looks for numpy too: who needs it, now or later, loads it by this. Arrow's allocator is kept
    from huge pages: each is cleared whole when first touched, which took 40 ms of a command that wrote six megabytes.
    """
    if "pyarrow" in sys.modules or "numpy" in sys.modules:
        return
    os.environ.setdefault("MIMALLOC_ALLOW_THP", "0")
    sys.modules["numpy"] = None  # type: ignore[assignment]  # how Python writes down that there is no such module
    try:
        import_module(module)
    finally:
        del sys.modules["numpy"]


def keep_memory() -> None:
    """Have Arrow's allocator, before it is loaded, keep what is let go of for what is needed next.

    A database is rewritten some megabytes at a time. What is given back to the system and taken again is cleared by it
    every time, which is a twelfth of a large update; kept, it makes the peak of memory an eighth higher.
    """
    os.environ.setdefault("MIMALLOC_PURGE_DELAY", "-1")
