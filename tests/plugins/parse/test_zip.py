"""Archives: listing, text of members, limits."""

from __future__ import annotations

from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

from plugins.parse.pages import content

from nutchpy.conf.layers import defaults
from nutchpy.core.parse import Parse, ParseStatus
from nutchpy.plugins.parse.zip import ZipParser


def archive(**members: bytes) -> bytes:
    file = BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as made:
        for name, body in members.items():
            made.writestr(name.replace("__", "/").replace("_", "."), body)
    return file.getvalue()


def parsed(body: bytes, most: int = 1 << 20) -> Parse:
    conf = defaults().with_values({"parser.zip.max.bytes": most})
    return ZipParser.from_conf(conf).parse(content(body, mime="application/zip", url="http://a.org/z/a.zip"))


def test_listing_text_and_links() -> None:
    page = b"<title>T</title><a href=x>link</a>"
    parse = parsed(archive(a_txt=b"see http://b.org/", d__p_html=page, i_png=b"\x89PNG\r\n\x1a\n", README=b"read me"))
    assert parse.text.split()[:4] == ["a.txt", "d/p.html", "i.png", "README"]
    assert parse.text.split()[4:] == ["see", "http://b.org/", "T", "T", "link", "read", "me"]
    assert [link.url for link in parse.outlinks] == ["http://b.org/", "http://a.org/z/x"]


def test_a_bomb_is_cut() -> None:
    parse = parsed(archive(a_txt=b"x" * 5_000_000, b_txt=b"never seen"), most=1000)
    assert len(parse.text) < 1100
    assert "never" not in parse.text


def test_damage() -> None:
    whole = archive(a_txt=b"text " * 100, b_txt=b"more")
    assert parsed(b"PK\3\4nothing").status is ParseStatus.INVALID_FORMAT
    assert parsed(b"").status is ParseStatus.INVALID_FORMAT
    for at in range(0, len(whole), 3):
        broken = whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]
        assert parsed(broken).status in (ParseStatus.SUCCESS, ParseStatus.INVALID_FORMAT)
