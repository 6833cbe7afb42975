"""A distribution of plugins that misbehave: written into a folder which worker processes have in their path."""

from __future__ import annotations

from pathlib import Path

CODE = '''
"""Parsers and filters that do what plugins should not."""
import ctypes, os, time
from dataclasses import replace
from nutchpy.core.parse import Parse, ParseStatus


class Wild:
    mime_types = ("text/wild",)

    @classmethod
    def from_conf(cls, conf):
        return cls()

    def parse(self, content):
        word = content.content.split()[0]
        if word == b"nonsense":
            return Parse(ParseStatus.SUCCESS, outlinks=[None])
        getattr(self, word.decode())()
        return Parse(ParseStatus.SUCCESS, text=content.content.decode())

    def fine(self):
        pass

    def hang(self):
        while True:
            pass

    def sleep(self):
        time.sleep(600)

    def stuck(self):
        ctypes.PyDLL(None).sleep(600)  # a library that holds the interpreter

    def crash(self):
        ctypes.string_at(0)

    def leave(self):
        os._exit(7)

    def eat(self):
        hoard = []
        while True:
            hoard.append(b"x" * (8 << 20))

    def gulp(self):
        b"x" * (1 << 50)

    def fail(self):
        raise ValueError("as told")

    def deep(self):
        self.deep()


class Unusable(Wild):
    @classmethod
    def from_conf(cls, conf):
        raise ValueError("cannot be built")


class Deadly(Wild):
    @classmethod
    def from_conf(cls, conf):
        os._exit(9)


class Forgetful:
    @classmethod
    def from_conf(cls, conf):
        return cls()

    def calculate(self, content, parse):
        if parse is None:
            raise KeyError("nothing to sign")
        return b"short"


class Asks:
    @classmethod
    def from_conf(cls, conf):
        return cls()

    def filter(self, content, parse, soup):
        first, second = soup(), soup()
        assert first is second
        return replace(parse, parse_meta={**parse.parse_meta, "asked": first.title.text, "odd": "\\ud800"})
'''
ENTRY_POINTS = """
[nutchpy.parse]
wild = wild_plugins:Wild
unusable = wild_plugins:Unusable
deadly = wild_plugins:Deadly
[nutchpy.parsefilter]
asks = wild_plugins:Asks
[nutchpy.signature]
forgetful = wild_plugins:Forgetful
"""


def install(folder: Path) -> None:
    """Make ``folder`` a place that holds the distribution."""
    (folder / "wild_plugins.py").write_text(CODE, encoding="utf-8")
    info = folder / "wild_plugins-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: wild-plugins\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
