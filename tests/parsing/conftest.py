"""What the tests of parsing share: plain settings, misbehaving plugins in the workers' path."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from parsing import plugins_for_tests

from nutchpy.conf.layers import Conf, defaults
from nutchpy.extension import registry


@pytest.fixture
def conf() -> Conf:
    """Settings under which URLs stay as they are."""
    return defaults().with_values({"urlfilter.order": [], "urlnormalizer.order": [], "parse.workers": 1})


@pytest.fixture
def wild_conf(conf: Conf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Conf:
    """The same, with the parser of ``text/wild`` installed for this process and for workers."""
    folder = tmp_path / "wild"
    folder.mkdir()
    plugins_for_tests.install(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.syspath_prepend(str(folder))
    registry.forget()
    yield conf.with_values({"parse.order": ["html", "wild"]})
    registry.forget()
    sys.modules.pop("wild_plugins", None)
