"""The regex URL normalizer: the substitutions of Nutch's ``regex-normalize.xml``, per scope, in order.

The rules run until nothing changes: ``?&&x`` leaves ``?&x`` after one pass of the shipped ones.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self
from xml.parsers import expat

from nutchpy.core.counters import Counters
from nutchpy.core.errors import ConfigError
from nutchpy.core.java_tree import JavaRegexError
from nutchpy.core.regex_engines import SECONDS, OutOfTime
from nutchpy.core.regex_search import Substitution, replacer
from nutchpy.plugins.rule_text import line_error, line_name
from nutchpy.plugins.urlnormalizer.settle import settled

if TYPE_CHECKING:
    from nutchpy.conf.layers import Conf

LONGEST: Final = 4096
"""Characters of a URL that rules are run over."""
_SCOPED_FILE: Final = "urlnormalizer.regex.file."
_ROOT: Final = "regex-normalize"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rule:
    """A substitution, by the name of the line that its ``<regex>`` begins at."""

    name: str
    substitution: Substitution


def read_rules(text: str, source: str, seconds: float = SECONDS) -> list[Rule]:
    """The rules of a file; ConfigError with file and line for one that is not XML, or has a bad expression."""
    rules: list[Rule] = []
    for pattern, substitution, line in _Reader(source).read(text):
        try:
            rules.append(Rule(line_name(source, line), replacer(pattern, substitution, seconds)))
        except JavaRegexError as error:
            raise line_error(source, line, f"{pattern} -> {substitution}: {error}") from error
    return rules


class RegexURLNormalizer:
    """``rules`` for all scopes, ``scoped`` in their place for some. When one runs out of time, the URL stays."""

    def __init__(self, rules: Sequence[Rule], scoped: Mapping[str, Sequence[Rule]] | None = None) -> None:
        self._rules = tuple(rules)
        self._scoped = {scope: tuple(own) for scope, own in (scoped or {}).items()}
        self._late = Counters()

    @classmethod
    def from_text(cls, text: str, source: str, scoped: Mapping[str, str] | None = None) -> Self:
        """From the text of a rule file, and texts for single scopes."""
        return cls(read_rules(text, source), {scope: read_rules(own, source) for scope, own in (scoped or {}).items()})

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """From ``urlnormalizer.regex.rules``, else the files ``urlnormalizer.regex.file`` and ``….file.<scope>``."""
        rules = conf.rules("urlnormalizer.regex.file", "urlnormalizer.regex.rules")
        seconds = conf.number("urlnormalizer.regex.timeout")
        scoped: dict[str, list[Rule]] = {}
        for name in conf:
            if name.startswith(_SCOPED_FILE) and conf.text(name):
                own = conf.rules(name)
                scoped[name.removeprefix(_SCOPED_FILE)] = read_rules(own.text, own.source, seconds)
        return cls(read_rules(rules.text, rules.source, seconds), scoped)

    def take_counters(self) -> Counters:
        """What was counted since the last call: ``rule_timeouts:<rule>``."""
        taken, self._late = self._late, Counters()
        return taken

    def normalize(self, url: str, scope: str) -> str | None:
        """The rewritten URL."""
        return url if len(url) > LONGEST else self._settled(url, scope)

    def normalize_all(self, urls: Sequence[str], scope: str) -> list[str | None]:
        """``normalize`` over a column, rule by rule; then again over those that a rule changed."""
        if max(map(len, urls), default=0) > LONGEST:
            return [self.normalize(url, scope) for url in urls]
        rewritten = list(urls)
        touched: set[int] = set()
        try:
            for rule in self._scoped.get(scope, self._rules):
                touched.update(rule.substitution.apply(rewritten))
        except OutOfTime:
            return [self._settled(url, scope) for url in urls]
        normal: list[str | None] = list(rewritten)
        for place in touched:
            normal[place] = self._settled(urls[place], scope)
        return normal

    def _settled(self, url: str, scope: str) -> str:
        asked: Rule | None = None

        def once(text: str) -> str:
            nonlocal asked
            if len(text) <= LONGEST:
                for asked in self._scoped.get(scope, self._rules):
                    text = asked.substitution(text)
            return text

        try:
            return settled(once, url)
        except OutOfTime:
            self._ran_out(asked, url)
            return url

    def _ran_out(self, rule: Rule | None, url: str) -> None:
        name = rule.name if rule else "?"
        counter = f"rule_timeouts:{name}"
        if not self._late[counter]:
            _log.warning("rule %s ran out of time on %.200s, which stays as it is; so will others", name, url)
        self._late.add(counter)


@dataclass(slots=True)
class _Open:
    """The ``<regex>`` being read."""

    line: int
    pattern: str | None = None
    substitution: str | None = None


class _Reader:
    """Reads ``<regex-normalize>`` with expat. Entity declarations are refused: they are how XML explodes."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.rules: list[tuple[str, str, int]] = []
        self.path: list[str] = []
        self.open: _Open | None = None
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text
        self.parser.EntityDeclHandler = self.entity

    def read(self, text: str) -> list[tuple[str, str, int]]:
        """Pattern, substitution and line of each rule."""
        try:
            self.parser.Parse(text.removeprefix("\ufeff"), True)
        except expat.ExpatError as error:
            raise line_error(self.source, error.lineno, f"not XML: {expat.errors.messages[error.code]}") from error
        except UnicodeEncodeError as error:
            raise ConfigError(f"{self.source}: not text: {error}") from error
        return self.rules

    def error(self, message: str) -> ConfigError:
        return line_error(self.source, self.parser.CurrentLineNumber, message)

    def start(self, name: str, _attributes: Mapping[str, str]) -> None:
        self.path.append(name)
        match self.path:
            case [only]:
                if only != _ROOT:
                    raise self.error(f"the outermost element is <{_ROOT}>, not <{only}>")
            case [_, element]:
                if element != "regex":
                    raise self.error(f"<{element}> stands where <regex> must")
                self.open = _Open(self.parser.CurrentLineNumber)
            case [_, _, "pattern" | "substitution"]:
                setattr(self.open, name, "")
            case _:
                raise self.error(f"<{name}> means nothing here; a <regex> has a <pattern> and a <substitution>")

    def text(self, data: str) -> None:
        if self.open is not None and len(self.path) == 3:
            setattr(self.open, self.path[2], getattr(self.open, self.path[2]) + data)

    def end(self, _name: str) -> None:
        self.path.pop()
        if len(self.path) != 1 or self.open is None:
            return
        rule, self.open = self.open, None
        if not rule.pattern or rule.substitution is None:
            raise self.error("a <regex> needs a <pattern> with a text and a <substitution>")
        self.rules.append((rule.pattern, rule.substitution, rule.line))

    def entity(self, name: str, *_declaration: object) -> None:
        raise self.error(f"declares the entity {name!r}, which is not allowed in a rule file")
