"""MIME types: what a body is, by its first bytes, its Content-Type and its URL, in Nutch's order of trust.

A signature in the bytes overrules the header (servers lie), unless the header names something more exact of the same
kind (an EPUB is a zip, an Atom feed is XML). Without a signature the header holds, then the URL's suffix, then a look
at whether the bytes are text; a text that is called a picture, an archive or an Office document is a text all the same
(NUTCH-2606). Pure: bytes and texts in, a type out.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from nutchpy.core import content_type as headers

SNIFF_BYTES: Final = 1_445
"""What the MIME Sniffing standard calls the resource header."""

BINARY: Final = "application/octet-stream"
TEXT: Final = "text/plain"
PDF: Final = "application/pdf"
_VAGUE: Final = frozenset(
    {"", BINARY, "binary/octet-stream", "application/unknown", "application/x-unknown", "unknown/unknown", "*/*"}
)
_SIGNATURES: Final[tuple[tuple[bytes, str], ...]] = (
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"\0\0\1\0", "image/x-icon"),
    (b"\0\0\2\0", "image/x-icon"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"PK\3\4", "application/zip"),
    (b"PK\5\6", "application/zip"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\0", "application/x-xz"),
    (b"(\xb5/\xfd", "application/zstd"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/x-rar-compressed"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"{\\rtf", "application/rtf"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"\x7fELF", "application/x-executable"),
    (b"MZ", "application/x-msdownload"),
    (b"\xca\xfe\xba\xbe", "application/java-vm"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"\0\1\0\0\0", "font/ttf"),
    (b"OTTO", "font/otf"),
    (b"OggS\0", "application/ogg"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"ID3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b".snd", "audio/basic"),
    (b"MThd\0\0\0\6", "audio/midi"),
    (b"FLV\1", "video/x-flv"),
)
_MAGICS: Final = tuple(magic for magic, _ in _SIGNATURES)
_NEED_BINARY: Final = frozenset({b"BM", b"MZ", b"ID3", b"BZh", b".snd", b"OTTO", b"wOFF", b"wOF2"})
"""Signatures that a text may begin with as well: believed only when other bytes are no text."""
_BARE: Final = ((b"BM", "image/bmp"), (b"ID3", "audio/mpeg"))
"""Those of them that the standard believes where nothing else tells a type."""
_RIFF: Final = {b"WEBP": "image/webp", b"WAVE": "audio/wave", b"AVI ": "video/x-msvideo"}
_HTML: Final = re.compile(
    r"(?>(?>\s+|<!--.*?-->|<\?xml[^>]*>)*+)<(?:!doctype html|(?:html|head|script|iframe|h1|div|font|table|a|style|"
    r"title|b|body|br|p|meta|link|ul|frameset)(?=[\s>/]))",
    re.IGNORECASE | re.DOTALL,
)
_XML_ROOT: Final = re.compile(
    r"(?>(?>\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*+(?>\[.*?\])?\s*>)*+)<([\w.:-]+)([^>]*)", re.DOTALL
)
_ROOTS: Final = {
    "rss": "application/rss+xml",
    "feed": "application/atom+xml",
    "svg": "image/svg+xml",
    "html": "application/xhtml+xml",
    "urlset": "application/xml",
    "sitemapindex": "application/xml",
    "opml": "text/x-opml",
}
_BINARY_BYTES: Final = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_SUFFIXES: Final = {
    "html": "text/html", "htm": "text/html", "xhtml": "application/xhtml+xml", "shtml": "text/html",
    "txt": TEXT, "text": TEXT, "md": "text/markdown", "csv": "text/csv", "tsv": "text/tab-separated-values",
    "css": "text/css", "js": "text/javascript", "mjs": "text/javascript", "json": "application/json",
    "xml": "application/xml", "rss": "application/rss+xml", "atom": "application/atom+xml",
    "rdf": "application/rdf+xml",
    "svg": "image/svg+xml", "pdf": "application/pdf", "ps": "application/postscript", "rtf": "application/rtf",
    "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp",
    "bmp": "image/bmp", "ico": "image/x-icon", "tif": "image/tiff", "tiff": "image/tiff", "avif": "image/avif",
    "zip": "application/zip", "gz": "application/gzip", "tgz": "application/gzip", "bz2": "application/x-bzip2",
    "xz": "application/x-xz", "zst": "application/zstd", "7z": "application/x-7z-compressed",
    "tar": "application/x-tar",
    "doc": "application/msword", "xls": "application/vnd.ms-excel", "ppt": "application/vnd.ms-powerpoint",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "odt": "application/vnd.oasis.opendocument.text", "epub": "application/epub+zip", "jar": "application/java-archive",
    "mp3": "audio/mpeg", "wav": "audio/wave", "ogg": "application/ogg", "flac": "audio/flac", "mp4": "video/mp4",
    "webm": "video/webm", "avi": "video/x-msvideo", "mov": "video/quicktime", "mpg": "video/mpeg", "mpeg": "video/mpeg",
    "woff": "font/woff", "woff2": "font/woff2", "ttf": "font/ttf", "otf": "font/otf", "exe": "application/x-msdownload",
}  # fmt: skip
_ZIP_KINDS: Final = ("application/vnd.", "application/epub+zip", "application/java-archive", "application/x-zip")
_OLE_KINDS: Final = ("application/msword", "application/vnd.ms-")
_SIGNED: Final = (
    *("application/vnd.openxmlformats", "application/vnd.oasis", "application/epub+zip", "application/java-archive"),
    *("application/zip", "application/gzip", "application/x-gzip", "application/x-tar", *_OLE_KINDS),
    *("image/png", "image/jpeg", "image/gif", "image/webp", "image/tiff", "image/avif"),
)
"""What a text cannot be: types that begin with a signature, or hold bytes that no text does."""


def mime(content_type: str | None, url: str, body: bytes, *, magic: bool = True) -> str:
    """The type, lower case, without parameters. ``magic`` is ``mime.type.magic``: whether bytes overrule the header."""
    declared = _declared(content_type)
    known = declared or _by_suffix(url)
    if not magic and known:
        return known
    signature = sniff(body) or (_bare(body) if known is None else None)
    if signature is None:
        return _unsigned(known, body)
    return known if known and _more_exact(known, signature) else signature


def sniff(body: bytes) -> str | None:
    """The type that the first bytes prove; None when they prove nothing."""
    head = body[:SNIFF_BYTES]
    return _by_signature(head) or _markup(_as_text(head))


def is_binary(body: bytes) -> bool:
    """Whether the first bytes cannot be a text (and are not UTF-16)."""
    head = body[:SNIFF_BYTES]
    return not head.startswith((b"\xff\xfe", b"\xfe\xff")) and _BINARY_BYTES.search(head) is not None


@lru_cache(maxsize=1_024)
def _declared(content_type: str | None) -> str | None:
    parsed = headers.extract([content_type]) if content_type else None
    return None if parsed is None or parsed.essence in _VAGUE else parsed.essence


def _by_suffix(url: str) -> str | None:
    path = re.split(r"[?#]", url, maxsplit=1)[0]
    name = path.rpartition("/")[2] if path.count("/") > 2 or "://" not in path else ""
    return _SUFFIXES.get(name.rpartition(".")[2].lower()) if "." in name else None


def _unsigned(known: str | None, body: bytes) -> str:
    """No signature: the known type, unless it claims text for bytes that are none, or something else for a text."""
    if known is None:
        return BINARY if not body or is_binary(body) else TEXT
    if known == TEXT:
        return BINARY if is_binary(body) else TEXT
    if known == PDF:
        return TEXT if body and b"%PDF-" not in body[:SNIFF_BYTES] and not is_binary(body) else PDF
    return TEXT if body and known.startswith(_SIGNED) and not is_binary(body) else known


def _bare(body: bytes) -> str | None:
    return next((kind for magic, kind in _BARE if body.startswith(magic)), None)


def _by_signature(head: bytes) -> str | None:
    if head[:4] == b"RIFF":
        return _RIFF.get(head[8:12])
    if head[:4] == b"FORM" and head[8:12] == b"AIFF":
        return "audio/aiff"
    if head[4:8] == b"ftyp":
        return "image/avif" if head[8:12] == b"avif" else "video/mp4"
    if head[257:262] == b"ustar":
        return "application/x-tar"
    if not head.startswith(_MAGICS):
        return None
    for magic, kind in _SIGNATURES:
        if head.startswith(magic):
            return kind if magic not in _NEED_BINARY or _BINARY_BYTES.search(head) else None
    return None


def _as_text(head: bytes) -> str:
    """Enough of the text to recognise markup."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head.decode("utf-16", "replace").lstrip()
    return head.removeprefix(b"\xef\xbb\xbf").decode("latin-1").lstrip()


def _markup(text: str) -> str | None:
    """HTML, or XML by its root element."""
    if not text.startswith("<"):
        return None
    is_xml = text.startswith("<?xml")
    if not is_xml and _HTML.match(text):
        return "text/html"
    root = _XML_ROOT.match(text)
    name = root[1].rpartition(":")[2] if root else ""
    if name == "RDF" and root and "purl.org/rss" in root[2]:
        return "application/rss+xml"
    if name in _ROOTS:
        return _ROOTS[name]
    if is_xml:
        return "application/xml"
    return "text/html" if text.startswith("<!--") else None


def _more_exact(known: str, signature: str) -> bool:
    """Whether the header's (or suffix's) type may stand beside the signature found."""
    if signature == "application/xml":
        return known != TEXT and _textual(known)
    if signature == "application/xhtml+xml":
        return known == "text/html"
    if signature in ("application/rss+xml", "application/atom+xml", "image/svg+xml", "text/x-opml"):
        return known.endswith("+xml") and known != "application/xhtml+xml"
    if signature == "text/html":
        return known.endswith("+xml")
    if signature == "application/zip":
        return known.startswith(_ZIP_KINDS)
    if signature == "application/x-ole-storage":
        return known.startswith(_OLE_KINDS)
    return _same_container(known, signature)


def _textual(known: str) -> bool:
    return known.startswith("text/") or known.endswith(("xml", "javascript", "json"))


def _same_container(known: str, signature: str) -> bool:
    """Ogg, Matroska and MPEG-4 carry sound or pictures; either word for it is right."""
    if signature in ("application/ogg", "video/webm", "video/mp4", "application/gzip"):
        return known.startswith(("audio/", "video/", "application/x-g"))
    return known.partition("/")[0] == signature.partition("/")[0] == "image" and known == "image/vnd.microsoft.icon"
