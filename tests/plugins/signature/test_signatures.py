"""The three signatures."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from nutchpy.conf.layers import defaults
from nutchpy.core.content import Content
from nutchpy.core.parse import Parse, ParseStatus
from nutchpy.plugins.signature.md5 import MD5Signature, TextMD5Signature
from nutchpy.plugins.signature.text_profile import TextProfileSignature
from nutchpy.testing.crawls import NOW


def content(body: bytes, url: str = "http://a.test/") -> Content:
    return Content(url, url, "text/html", (), body, NOW)


def parse(text: str) -> Parse:
    return Parse(ParseStatus.SUCCESS, text=text)


def md5(text: str) -> bytes:
    return hashlib.md5(text.encode()).digest()


def profile(**values: Any) -> TextProfileSignature:
    names = {f"db.signature.text_profile.{name}": value for name, value in values.items()}
    return TextProfileSignature.from_conf(defaults().with_values(names))


def test_md5_of_the_body() -> None:
    assert MD5Signature().calculate(content(b"<p>hi"), parse("hi")) == md5("<p>hi")


@pytest.mark.parametrize("signature", [MD5Signature(), TextMD5Signature(), profile()])
def test_empty_pages_differ_by_url(signature: Any) -> None:
    one, two = content(b"", "http://a.test/1"), content(b"", "http://a.test/2")
    assert signature.calculate(one, None) != signature.calculate(two, None)
    assert signature.calculate(one, parse("")) == md5("http://a.test/1")


def test_text_md5_is_blind_to_markup() -> None:
    signature = TextMD5Signature()
    assert signature.calculate(content(b"<p>hi"), parse("hi")) == signature.calculate(content(b"<b>hi"), parse("hi"))
    assert signature.calculate(content(b"<p>hi"), parse("hi")) == md5("hi")
    assert signature.calculate(content(b"<p>hi"), None) == md5("<p>hi")


def test_text_profile_by_hand() -> None:
    # the: 3 → 2; cat: 2; sat, mat once and so below the quantum; on, a too short
    text = "The cat sat on the mat. The CAT!"
    assert profile().calculate(content(b"x"), parse(text)) == md5("cat 2\nthe 2")


def test_text_profile_keeps_single_words_when_none_comes_twice() -> None:
    assert profile().calculate(content(b"x"), parse("one two three")) == md5("one 1\nthree 1\ntwo 1")
    assert profile(sec_sort_lex=False).calculate(content(b"x"), parse("one two three")) == md5("one 1\ntwo 1\nthree 1")


def test_text_profile_ignores_small_changes() -> None:
    words = " ".join(f"word{n % 7}" for n in range(300))
    signature = profile(quant_rate=0.1)
    assert signature.calculate(content(b"x"), parse(words)) == signature.calculate(content(b"y"), parse(f"{words} new"))
    assert signature.calculate(content(b"x"), parse(words)) != signature.calculate(content(b"x"), parse("other words"))


def test_counts_are_compared_before_names() -> None:
    text = "zebra " * 40 + "apple " * 20
    assert profile(quant_rate=0.1).calculate(content(b"x"), parse(text)) == md5("zebra 40\napple 20")


def test_words_too_short_to_count_do_not_make_pages_equal() -> None:
    assert profile().calculate(content(b"1"), parse("a b c")) != profile().calculate(content(b"2"), parse("d e f"))


def test_a_lone_surrogate_does_not_stop_it() -> None:
    for signature in (TextMD5Signature(), profile()):
        assert len(signature.calculate(content(b"x"), parse("bad \ud800word"))) == 16
