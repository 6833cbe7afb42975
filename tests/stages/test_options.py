"""Options: declared once, settled from the settings, shown in records."""

import pickle
from dataclasses import dataclass
from pathlib import Path

import pytest

from nutchpy.conf.layers import defaults
from nutchpy.core.errors import ConfigError
from nutchpy.stages.options import UNSET, Options, argument, flag, setting


@dataclass(frozen=True)
class Sample(Options):
    crawldb: Path = argument("The crawldb.")
    segments: tuple[Path, ...] = argument("Segments.", ())
    top_n: int | None = flag("Best N.", None, "-topN")
    out: Path | None = flag("A file.", None, "-o")
    no_force: bool = flag("Do not.", False)
    max_count: int = setting("generate.max.count", "Most.", "--max-count")
    filter: bool = setting("generate.filter", "Do not filter.", "-noFilter", given=False)


def test_spellings_have_nutchs_name_and_a_long_form() -> None:
    spellings = {option.name: option.spellings for option in Sample.declared() if not option.about.positional}
    assert spellings == {
        "top_n": ["-topN", "--top-n"],
        "out": ["-o", "--out"],
        "no_force": ["--no-force"],
        "max_count": ["--max-count"],
        "filter": ["-noFilter", "--no-filter"],
    }


def test_settings_fill_what_was_not_given() -> None:
    conf = defaults().with_values({"generate.max.count": 7})
    options = Sample.of(conf, crawldb=Path("c"))
    assert (options.max_count, options.filter) == (7, True)
    assert Sample.of(conf, crawldb=Path("c"), max_count=2).max_count == 2


def test_given_settings_are_the_overlay() -> None:
    options = Sample(Path("c"), max_count=2, filter=False)
    assert options.overlay() == {"generate.max.count": 2, "generate.filter": False}
    assert Sample(Path("c")).overlay() == {}


def test_a_setting_used_before_it_is_settled_fails_loudly() -> None:
    with pytest.raises(TypeError, match=r"Options\.of"):
        bool(Sample(Path("c")).filter)


def test_unset_stays_itself_across_processes() -> None:
    assert pickle.loads(pickle.dumps(Sample(Path("c")))).filter is UNSET


def test_a_setting_that_does_not_exist_is_refused() -> None:
    @dataclass(frozen=True)
    class Wrong(Options):
        x: int = setting("no.such.setting", "What?")

    with pytest.raises(ConfigError, match=r"no\.such\.setting"):
        Wrong().settled(defaults())


def test_shown_is_what_was_given_as_plain_values() -> None:
    assert Sample(Path("c"), (Path("s"),), top_n=3).shown() == {"crawldb": "c", "segments": ["s"], "top_n": 3}


@pytest.mark.parametrize(
    ("crawldb", "crawl"),
    [("crawl/crawldb", "crawl"), ("crawldb", "."), ("/x/crawldb/", "/x"), ("抓取 目录/crawldb", "抓取 目录")],
)
def test_the_crawl_folder_is_the_databases_parent(crawldb: str, crawl: str) -> None:
    assert Sample(Path(crawldb)).crawl_dir() == Path(crawl)


def test_the_crawl_folder_of_segments() -> None:
    @dataclass(frozen=True)
    class Several(Options):
        segments: tuple[Path, ...] = argument("Segments.")

    @dataclass(frozen=True)
    class Folder(Options):
        segments: Path = argument("The folder of segments.")

    @dataclass(frozen=True)
    class One(Options):
        segment: Path = argument("A segment.")

    segment = Path("crawl/segments/20260101000000")
    assert Several((segment,)).crawl_dir() == Path("crawl")
    assert Several(()).crawl_dir() is None
    assert Folder(Path("crawl/segments")).crawl_dir() == Path("crawl")
    assert One(segment).crawl_dir() == Path("crawl")
    assert One(Path("20260101000000")).crawl_dir() == Path("..")
