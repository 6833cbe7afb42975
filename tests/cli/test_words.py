"""Reading words: Nutch's names and ours, in any order, and what is said of words that do not fit."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import pytest

from nutchpy.cli.words import leading, read
from nutchpy.core.errors import UsageError
from nutchpy.stages.options import Options, argument, flag, setting


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Sample(Options):
    crawldb: Path = argument("The crawldb.", metavar="CRAWLDB")
    rest: tuple[Path, ...] = argument("More.", ())
    top_n: int | None = flag("Best N.", None, "-topN", metavar="N")
    add_days: float = flag("Days.", 0.0, "-adddays")
    expr: str = flag("Expression.", "", "-expr")
    no_filter: bool = flag("Do not filter.", False, "-noFilter")
    filter: bool = setting("generate.filter", "Do not filter.", "-nofilt", given=False)
    out: Path | None = flag("A file.", None, "-o")
    define: tuple[str, ...] = flag("Settings.", (), "-D")
    format: Literal["normal", "csv"] = flag("Format.", "normal", "-format")
    colour: Colour | None = flag("Colour.", None)


def words(*given: str) -> dict[str, Any]:
    return read(given, Sample.declared())


@pytest.mark.parametrize(
    ("given", "values"),
    [
        (["-topN", "5"], {"top_n": 5}),
        (["--top-n", "5"], {"top_n": 5}),
        (["--top-n=5"], {"top_n": 5}),
        (["-topn", "5"], {"top_n": 5}),
        (["-adddays", "1.5"], {"add_days": 1.5}),
        (["-topN", "-1"], {"top_n": -1}),
        (["-expr", "-score > 1"], {"expr": "-score > 1"}),
        (["--expr=a=b"], {"expr": "a=b"}),
        (["-noFilter"], {"no_filter": True}),
        (["-NOFILTER"], {"no_filter": True}),
        (["-nofilt"], {"filter": False}),
        (["-o", "x"], {"out": Path("x")}),
        (["-Da=b", "-D", "c=d"], {"define": ("a=b", "c=d")}),
        (["-format", "csv"], {"format": "csv"}),
        (["--colour", "red"], {"colour": Colour.RED}),
        ([], {}),
    ],
)
def test_options_may_stand_anywhere(given: list[str], values: dict[str, Any]) -> None:
    assert words("db", *given) == {"crawldb": Path("db"), **values}
    assert words(*given, "db") == {"crawldb": Path("db"), **values}


def test_positional_words() -> None:
    assert words("db", "-noFilter", "s1", "s2") == {
        "crawldb": Path("db"),
        "rest": (Path("s1"), Path("s2")),
        "no_filter": True,
    }
    assert words("--", "-db", "-topN") == {"crawldb": Path("-db"), "rest": (Path("-topN"),)}
    assert words("-", "-5") == {"crawldb": Path("-"), "rest": (Path("-5"),)}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["db", "-topM", "5"], r"no option -topM; did you mean -topN\?"),
        (["db", "-numFetcherss", "5"], "no option -numFetcherss"),
        (["db", "-output", "x"], "no option -output; did you mean --out"),
        (["db", "-O", "x"], "no option -O"),
        (["db", "-d", "a=b"], "no option -d"),
        (["db", "-Dabc"], "no option -Dabc"),
        (["db", "--topn", "5"], "did you mean --top-n"),
        (["db", "-top-n", "5"], "no option -top-n; did you mean"),
        (["db", "-topN"], "-topN needs a value: N"),
        (["db", "-topN", "many"], "-topN must be a whole number, not 'many'"),
        (["db", "-adddays", "x"], "-adddays must be a number"),
        (["db", "-noFilter=1"], "takes no value"),
        (["db", "-format", "xml"], "-format must be one of normal, csv, not 'xml'"),
        (["db", "--colour", "blue"], "--colour must be one of red"),
        ([], "CRAWLDB is missing: The crawldb"),
    ],
)
def test_what_does_not_fit_is_told(given: list[str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        words(*given)


def test_too_many_words_are_named() -> None:
    @dataclass(frozen=True)
    class Two(Options):
        sources: tuple[str, ...] = argument("Sources.")
        target: str = argument("Target.")

    assert read(["a", "b", "c"], Two.declared()) == {"sources": ("a", "b"), "target": "c"}
    with pytest.raises(UsageError, match="SOURCES is missing"):
        read(["c"], Two.declared())

    @dataclass(frozen=True)
    class One(Options):
        target: str = argument("Target.")

    with pytest.raises(UsageError, match="too many arguments: b c"):
        read(["a", "b", "c"], One.declared())


def test_leading_options_end_at_the_first_other_word() -> None:
    declared = [option for option in Sample.declared() if not option.about.positional]
    given = ["-D", "a=b", "-noFilter", "generate", "-topN"]
    assert leading(given, declared, set()) == ({"define": ("a=b",), "no_filter": True}, given[3:])
    assert leading(["-noFilter", "--help", "x"], declared, {"--help"}) == ({"no_filter": True}, ["--help", "x"])
