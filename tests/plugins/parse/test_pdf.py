"""PDF: title, text, links; damaged files; pypdf absent."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from io import BytesIO

import pytest
from plugins.parse.pages import content

from nutchpy.conf.layers import defaults
from nutchpy.core.parse import Parse, ParseStatus
from nutchpy.plugins.parse import pdf
from nutchpy.plugins.parse.pdf import PdfParser


def document(texts: Sequence[str] = ("Hello http://b.org/seen",)) -> bytes:
    """A PDF of a page per text, each with a link to /linked."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Title (A title) >>"]
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    kids = []
    for text in texts:
        stream = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET".encode()
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        kids.append(len(objects) + 1)
        annotation = b"<< /Subtype /Link /Rect [0 0 1 1] /A << /S /URI /URI (http://a.org/linked) >> >>"
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /F1 4 0 R"
            b" >> >> /Annots [%s] >>" % (len(objects), annotation)
        )
    listed = b" ".join(b"%d 0 R" % kid for kid in kids)
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), listed)
    out = BytesIO()
    out.write(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.writelines(b"%010d 00000 n \n" % place for place in places)
    out.write(b"trailer << /Size %d /Root 1 0 R /Info 3 0 R >>\nstartxref\n" % (len(objects) + 1))
    out.write(b"%d\n%%%%EOF" % start)
    return out.getvalue()


def parsed(body: bytes, pages: int = 10) -> Parse:
    conf = defaults().with_values({"parser.pdf.max.pages": pages})
    return PdfParser.from_conf(conf).parse(content(body, mime="application/pdf", url="http://a.org/a.pdf"))


def test_text_and_links() -> None:
    parse = parsed(document())
    assert (parse.status, parse.title, parse.text) == (ParseStatus.SUCCESS, "A title", "Hello http://b.org/seen")
    assert [link.url for link in parse.outlinks] == ["http://a.org/linked", "http://b.org/seen"]


def test_pages_are_limited() -> None:
    assert parsed(document(["one", "two", "three"]), pages=2).text.split() == ["one", "two"]


def test_damaged_files_give_what_can_be_read() -> None:
    whole = document()
    assert parsed(b"%PDF-1.7\n").status is ParseStatus.INVALID_FORMAT
    for at in range(0, len(whole), 7):
        for broken in (whole[:at], whole[:at] + b"\xff<<[" + whole[at + 4 :]):
            assert parsed(broken).status in (ParseStatus.SUCCESS, ParseStatus.INVALID_FORMAT)


def test_without_pypdf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "find_spec", lambda name: None if name == "pypdf" else importlib.util.find_spec(name))
    parse = parsed(document())
    assert (parse.status, parse.message) == (ParseStatus.NO_PARSER, "PDF needs pypdf: pip install 'nutchpy[pdf]'")
