"""The language parse filter: the language of a page's text where the page declares none, by py3langid.

It comes with ``pip install 'nutchpy[language]'``. After Nutch's language-identifier.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Final, Self

from nutchpy.conf.layers import Conf
from nutchpy.core.content import Content
from nutchpy.core.errors import ConfigError, PluginError
from nutchpy.core.parse import Parse

MISSING: Final = "htmlparsefilter.order: language needs py3langid: pip install 'nutchpy[language]'"
_POLICIES: Final = ("detect", "identify")
_LEAST_LETTERS: Final = 4
_CERTAIN: Final = 0.9


class LanguageFilter:
    """Sets ``language`` in the ways of ``policy``: ``detect`` (as declared), ``identify`` (by the text)."""

    def __init__(self, policy: Sequence[str] = _POLICIES, longest: int = 2048, *, only_certain: bool = True) -> None:
        if unknown := set(policy) - set(_POLICIES):
            raise ConfigError(f"lang.extraction.policy knows detect and identify, not {min(unknown)!r}")
        self._policy = tuple(policy)
        self._longest = longest
        self._certainty = _CERTAIN if only_certain else 0.0

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """By the settings ``lang.*``; PluginError when py3langid is not installed."""
        if find_spec("py3langid") is None:
            raise PluginError(MISSING)
        policy, longest = conf.words("lang.extraction.policy"), conf.integer("lang.analyze.max.length")
        return cls(policy, longest, only_certain=conf.flag("lang.identification.only.certain"))

    def filter(self, content: Content, parse: Parse, soup: Any) -> Parse:
        """The Parse with a language, if there is one to be had."""
        found = (parse.language if way == "detect" else self._identified(parse) for way in self._policy)
        language = next(filter(None, found), None)
        return parse if language == parse.language else replace(parse, language=language)

    def _identified(self, parse: Parse) -> str | None:
        text = parse.text[: self._longest] if self._longest >= 0 else parse.text
        if sum(map(str.isalpha, text)) < _LEAST_LETTERS:
            return None
        language, certainty = self._classify(text)
        return language if certainty >= self._certainty else None

    @cached_property
    def _classify(self) -> Callable[[str], tuple[str, float]]:
        """Made when first asked for: the model takes half a second."""
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

        model = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
        return lambda text: (str((found := model.classify(text))[0]), float(found[1]))
