"""Nutch's tests of URLUtil: domains and suffixes, resolution, international hosts."""

from __future__ import annotations

from conformance import corpora

from nutchpy.core import registered, urls
from nutchpy.fetcher.redirects import choose_repr
from nutchpy.plugins.urlnormalizer.basic import BasicURLNormalizer
from nutchpy.plugins.urlnormalizer.idn import host_form

PRIVATE = "uk.com is a suffix of the list's private part, whose domains are kept apart here; Nutch leaves that part out"
UNLISTED = "an unlisted top-level domain is a suffix, by the list's own default rule; Nutch takes the whole host"
EXPECTED_FAILURES = {"6": PRIVATE, "7": UNLISTED, "21": PRIVATE}


def table_form(host: str | None) -> str | None:
    """Nutch gives some hosts in Unicode; here they are ASCII in all tables."""
    return urls.host_of(f"http://{host}/") if host else host


def href(url: str | None) -> str | None:
    """The standard's form: Nutch leaves away the slash of an empty path."""
    parsed = urls.parse(url) if url is not None else None
    return None if parsed is None else str(parsed.href)


def normal_form(url: str, idn: str, *, idna2008: bool = True) -> str | None:
    return BasicURLNormalizer(host_form(idn, idna2008=idna2008)).normalize(url, "default")


def converted(host: str, idn: str, case: corpora.Case) -> bool:
    form = normal_form(f"http://{host}/", idn, idna2008=case["idna"] == "IDNA2008")
    return form == f"http://{case['ascii' if idn == 'toAscii' else 'unicode']}/"


def passes(case: corpora.Case) -> bool:
    match case["fn"]:
        case "getDomainName":
            return registered.registered_domain(urls.host_of(case["input"]) or "") == table_form(case["expected"])
        case "getDomainSuffix":
            return registered.public_suffix(urls.host_of(case["input"]) or "") == table_form(case["expected"])
        case "getTopLevelDomainName":
            suffix = registered.public_suffix(urls.host_of(case["input"]) or "")
            return (suffix and suffix.rpartition(".")[2]) == case["expected"]
        case "toASCII" | "toUNICODE" as function:
            form = normal_form(case["input"], "toAscii" if function == "toASCII" else "toUnicode")
            return form == normal_form(case["expected"], "none")
        case "resolve":
            return urls.resolve(case["base"], case["input"]) == href(case["expected"])
        case "choose_repr":
            return choose_repr(case["src"], case["dst"], case["temp_redirect"]) == case["expected"]
        case "convert_host":
            back = converted(case["ascii"], "toUnicode", case) if case["round_trip"] else True
            return converted(case["unicode"], "toAscii", case) and back
    raise ValueError(case["fn"])


def test_url_util() -> None:
    corpora.check("url_nutch_urlutil", passes, EXPECTED_FAILURES)
