"""Chains: the enabled plugins of each extension point, in order, called as one.

A plugin that raises costs one record: it is caught here, once, counted under the plugin's name in ``errors``, and the
record goes on as if that plugin had not been asked. Chains are built from settings and pickle as their settings, so a
worker process rebuilds its own.
"""

from nutchpy.extension.chains.guard import Chain
from nutchpy.extension.chains.page_signature import PageSignature
from nutchpy.extension.chains.parsing import ParseFilters, Parsers
from nutchpy.extension.chains.scoring import ScoringFilters
from nutchpy.extension.chains.single import schedule, schemes, signature, transport
from nutchpy.extension.chains.urlfilters import URLExemptions, URLFilters
from nutchpy.extension.chains.urlnormalizers import URLNormalizers

__all__ = [
    "Chain",
    "PageSignature",
    "ParseFilters",
    "Parsers",
    "ScoringFilters",
    "URLExemptions",
    "URLFilters",
    "URLNormalizers",
    "schedule",
    "schemes",
    "signature",
    "transport",
]
