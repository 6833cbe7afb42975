"""Office documents: text, title, links; limits; damage."""

from __future__ import annotations

import time
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

from plugins.parse.pages import content

from nutchpy.conf.layers import defaults
from nutchpy.core.parse import Parse, ParseStatus
from nutchpy.extension.chains import Parsers
from nutchpy.plugins.parse.office import OfficeParser

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
ODT = "application/vnd.oasis.opendocument.text"
CORE = "<cp:coreProperties><dc:title>A &amp; B</dc:title><dc:language>de</dc:language></cp:coreProperties>"
LINKS = """<Relationships><Relationship Id="r1" Type="http://x/hyperlink" Target="http://b.org/x?a=1&amp;b=2"
    TargetMode="External"/><Relationship Id="r2" Type="http://x/image" Target="media/i.png"/></Relationships>"""
DOCUMENT = """<w:document><w:body><w:p><w:r><w:t>Hel</w:t></w:r><w:r><w:t>lo</w:t><w:tab/><w:t>you</w:t></w:r></w:p>
    <w:p><w:hyperlink r:id="r1"><w:r><w:t>a link</w:t></w:r></w:hyperlink>
    <w:hyperlink w:anchor="here"><w:t xml:space='preserve'> within</w:t></w:hyperlink></w:p>
    <w:p><w:r><w:instrText> HYPERLINK "http://c.org/" </w:instrText></w:r></w:p></w:body></w:document>"""


def packed(members: dict[str, str]) -> bytes:
    file = BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as made:
        for name, text in members.items():
            made.writestr(name, text)
    return file.getvalue()


def parsed(members: dict[str, str] | bytes, size: int = 1 << 20, characters: int = 4_000_000) -> Parse:
    values = {"parser.zip.max.bytes": size, "parser.max.text.length": characters}
    body = members if isinstance(members, bytes) else packed(members)
    parser = OfficeParser.from_conf(defaults().with_values(values))
    return parser.parse(content(body, mime=DOCX, url="http://a.org/d/a.docx"))


def test_docx() -> None:
    parse = parsed(
        {
            "[Content_Types].xml": "",
            "word/document.xml": DOCUMENT,
            "word/_rels/document.xml.rels": LINKS,
            "word/footnotes.xml": "<w:footnotes><w:p><w:t>a note</w:t></w:p></w:footnotes>",
            "docProps/core.xml": CORE,
        }
    )
    assert (parse.status, parse.title, parse.language) == (ParseStatus.SUCCESS, "A & B", "de")
    assert parse.text == "Hello you\na link within\na note"
    assert [(link.url, link.anchor) for link in parse.outlinks] == [
        ("http://b.org/x?a=1&b=2", "a link"),
        ("http://c.org/", ""),
    ]


def test_xlsx() -> None:
    sheet = """<sheetData><row><c t="s"><v>1</v></c><c><v>42</v></c><c t="inlineStr"><is><t>in</t></is></c></row><row>
        <c t="s"><v>0</v></c><c t="s"><v>9</v></c><c><f>HYPERLINK("http://c.org/","x")</f><v>x</v></c></row></sheetData>
        <hyperlinks><hyperlink ref="A1" r:id="r1"/></hyperlinks>"""
    parse = parsed(
        {
            "xl/sharedStrings.xml": "<sst><si><t>zero</t></si><si><r><t>o</t></r><r><t>ne</t></r></si></sst>",
            "xl/worksheets/sheet10.xml": "<row><c><v>last</v></c></row>",
            "xl/worksheets/sheet2.xml": sheet,
            "xl/worksheets/_rels/sheet2.xml.rels": LINKS,
        }
    )
    assert parse.text == "one 42 in\nzero x\nlast"
    assert sorted(link.url for link in parse.outlinks) == ["http://b.org/x?a=1&b=2", "http://c.org/"]


def test_pptx() -> None:
    slide = "<a:p><a:r><a:rPr><a:hlinkClick r:id='r1'/></a:rPr><a:t>{}</a:t></a:r></a:p>"
    parse = parsed(
        {
            "ppt/slides/slide10.xml": slide.format("ten"),
            "ppt/slides/slide2.xml": slide.format("two"),
            "ppt/slides/_rels/slide2.xml.rels": LINKS,
            "ppt/notesSlides/notesSlide1.xml": slide.format("said"),
        }
    )
    assert parse.text == "two\nten\nsaid"
    assert [link.url for link in parse.outlinks] == ["http://b.org/x?a=1&b=2"]


def test_odt() -> None:
    body = """<office:document-content><office:automatic-styles>no</office:automatic-styles><text:h>Head</text:h>
        <text:p>some<text:s/>text<text:line-break/>and <text:a xlink:href="../x">a <text:span>link</text:span></text:a>
        </text:p></office:document-content>"""
    parse = parsed({"content.xml": body, "meta.xml": "<office:meta><dc:title>T</dc:title></office:meta>"})
    assert (parse.title, parse.text) == ("T", "Head\nsome text\nand a link")
    assert [(link.url, link.anchor) for link in parse.outlinks] == [("http://a.org/x", "a link")]


def test_bombs_are_cut() -> None:
    start = time.process_time()
    big = parsed({"word/document.xml": "<w:p><w:t>" + "x" * 5_000_000}, size=1000)
    assert len(big.text) < 1000
    strings = {"xl/sharedStrings.xml": "<si><t>" + "y" * 50_000 + "</t></si>"}
    cells = {"xl/worksheets/sheet1.xml": "<c t='s'><v>0</v></c>" * 20_000}
    assert len(parsed(strings | cells, characters=100_000).text) <= 100_000
    lol = "<!DOCTYPE x [<!ENTITY a 'b'><!ENTITY c '&a;&a;'>]><w:p><w:t>&c;d</w:t></w:p>"
    assert parsed({"word/document.xml": lol}).text == "d"
    parsed({"word/document.xml": "<w:p>" * 100_000})
    assert time.process_time() - start < 2


def test_what_is_damaged_or_none() -> None:
    whole = packed({"word/document.xml": DOCUMENT, "word/_rels/document.xml.rels": LINKS})
    assert parsed(b"PK\3\4nothing").status is ParseStatus.INVALID_FORMAT
    assert parsed({"a.txt": "x"}).status is ParseStatus.NO_PARSER
    for at in range(0, len(whole), 5):
        broken = whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]
        assert parsed(broken).status in (ParseStatus.SUCCESS, ParseStatus.INVALID_FORMAT, ParseStatus.NO_PARSER)


def test_it_is_asked_for_the_types_of_office() -> None:
    parsers = Parsers.from_conf(defaults())
    for mime in (DOCX, XLSX, PPTX, ODT):
        found = parsers.find(mime)
        assert found is not None
        assert found[0] == "office"
