"""Pages of the site: templates in the frame that all pages share, and the files that they load."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from markupsafe import Markup

from .. import __version__
from ..documents.formats.base_language import environment, templates
from ..documents.formats.html import markup, script_hash
from .site_file import SiteFile, SiteOptions

# The sources that a page may load: files of the site and nothing else. No page has inline scripts or styles.
POLICY: Mapping[str, Sequence[str]] = {
    "default-src": ("'none'",),
    "style-src": ("'self'",),
    "script-src": ("'self'",),
    "font-src": ("'self'",),
    "img-src": ("'self'",),
    "base-uri": ("'none'",),
    "form-action": ("'none'",),
}
FONT = "symformer-math.woff2"
EMBEDDED = "data:font/woff2;base64,FONT"  # the font in the style sheet of documents of a single file


@dataclass(frozen=True)
class Metadata:
    """What search engines and previews of links show of a page.

    Attributes
    ----------
    title, description
        The title of the page, and a sentence or two on its content.
    article
        The page in terms of schema.org, or nothing.
    image
        The path of a picture below the root of the site, or "".

    """

    title: str
    description: str
    article: Mapping[str, Any] = field(default_factory=dict)
    image: str = ""


def site_page(
    template: str,
    path: str,
    section: str = "",
    *,
    options: SiteOptions | None = None,
    metadata: Metadata | None = None,
    current: bool = False,
    policy: Mapping[str, Sequence[str]] | None = None,
    **values: Any,
) -> SiteFile:
    """Return a page of the site.

    Parameters
    ----------
    template
        The file name of the template in ``templates/site``; it extends ``layout.html.jinja``.
    path
        The path of the page below the root of the site.
    section
        The part of the site that the page belongs to: "atlas", "compare", "playground", "guide" or "".
    options
        The options of the site.
    metadata
        What search engines and previews of links show.
    current
        True for the first page of the section.
    policy
        Further sources in the content security policy, by directive.
    values
        The values that the template uses, by name.

    """
    article = script_json(metadata.article) if metadata and metadata.article else markup("")
    sources = dict(policy or {})
    if article:
        sources["script-src"] = (*sources.get("script-src", ()), script_hash(article))
    base = options.base_url.rstrip("/") + "/" if options and options.base_url else ""
    shared = {
        "root": "../" * path.count("/"),
        "path": path,
        "section": section,
        "current": current,
        "policy": content_policy(sources),
        "version": __version__,
        "metadata": metadata,
        "article": article,
        "address": f"{base}{path.removesuffix('index.html')}" if base else "",
        "image": f"{base}{metadata.image}" if base and metadata and metadata.image else "",
    }
    made = environment().get_template(f"site/{template}").render(shared | values)
    return SiteFile(path, made.encode())


def script_json(data: Mapping[str, Any]) -> Markup:
    """Return data for a script element, without signs that could end it.

    >>> print(script_json({"name": "</script>"}))
    {"name":"\\u003c/script\\u003e"}
    """
    spelt = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return markup(spelt.translate({ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}))


def content_policy(more: Mapping[str, Sequence[str]]) -> str:
    """Return the content security policy with further sources.

    >>> content_policy({"connect-src": ("'self'",)}).split("; ")[-1]
    "connect-src 'self'"
    """
    sources = {name: (*POLICY.get(name, ()), *more.get(name, ())) for name in [*POLICY, *more]}
    return "; ".join(f"{name} {' '.join(each)}" for name, each in sources.items())


def shared_files() -> Iterator[SiteFile]:
    """Yield the files that all pages load: the style sheet, the font of formulas, the icon and a script that copies."""
    yield SiteFile("assets/site.css", style().encode())
    yield SiteFile(f"assets/{FONT}", (templates() / "fonts" / FONT).read_bytes())
    yield SiteFile("assets/icon.svg", (templates() / "site" / "icon.svg").read_bytes())
    yield SiteFile("assets/copy.js", (templates() / "derivation.js").read_bytes())


@cache
def style() -> str:
    """Return the style sheet: the one of derivations, with the font in its own file, and the site's own."""
    derivation = (templates() / "derivation.css").read_text("utf-8").replace(EMBEDDED, FONT)
    return derivation + (templates() / "site" / "site.css").read_text("utf-8")
