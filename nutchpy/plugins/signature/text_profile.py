"""TextProfileSignature: MD5 of a page's frequent words, so that small changes leave the signature as it is.

Words are runs of letters and digits, in lower case, longer than ``min_token_len``. Their counts are rounded down to
multiples of a quantum (``quant_rate`` of the greatest count, at least 2 when any word comes twice); what falls to zero
is left out.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final, Self

from nutchpy.conf.layers import Conf
from nutchpy.core.content import Content
from nutchpy.core.parse import Parse
from nutchpy.plugins.signature.md5 import MD5Signature, digest

_FAMILY: Final = "db.signature.text_profile"
_TOKEN: Final = re.compile(r"[^\W_]+")


class TextProfileSignature:
    """See the module; MD5 of the body where the text has no words to count."""

    def __init__(self, min_token_len: int, quant_rate: float, alphabetical: bool) -> None:
        self._min_token_len = min_token_len
        self._quant_rate = quant_rate
        self._alphabetical = alphabetical

    @classmethod
    def from_conf(cls, conf: Conf) -> Self:
        """Built from ``db.signature.text_profile.*``."""
        return cls(
            conf.integer(f"{_FAMILY}.min_token_len"),
            conf.number(f"{_FAMILY}.quant_rate"),
            conf.flag(f"{_FAMILY}.sec_sort_lex"),
        )

    def calculate(self, content: Content, parse: Parse | None) -> bytes:
        """16 bytes."""
        profile = self._profile(parse.text) if parse is not None else []
        if not profile:
            return MD5Signature().calculate(content, parse)
        lines = "\n".join(f"{token} {count}" for token, count in profile)
        return digest(lines.encode("utf-8", "surrogatepass"))

    def _profile(self, text: str) -> list[tuple[str, int]]:
        counts = Counter(token for token in _TOKEN.findall(text.lower()) if len(token) > self._min_token_len)
        if not counts:
            return []
        quantum = self._quantum(max(counts.values()))
        kept = [(token, count // quantum * quantum) for token, count in counts.items() if count >= quantum]
        if self._alphabetical:
            kept.sort()
        return sorted(kept, key=lambda pair: -pair[1])

    def _quantum(self, greatest: int) -> int:
        """Halves round up, as in Nutch; at least 2, or 1 when no word comes twice."""
        return max(int(greatest * self._quant_rate + 0.5), 2 if greatest > 1 else 1)
