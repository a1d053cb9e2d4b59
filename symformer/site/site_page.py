"""Pages of the site: templates in the frame that all pages share, and the files that they load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from ..documents.formats.base_language import environment, templates
from .site_file import SiteFile

# What a page may load: files of the site and nothing else. No page has inline scripts or styles.
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


def site_page(template: str, path: str, section: str = "", *, current: bool = False, **values: Any) -> SiteFile:
    """Return a page of the site.

    Parameters
    ----------
    template
        The file name of the template in ``templates/site``; it extends ``layout.html.jinja``.
    path
        The path of the page below the root of the site.
    section
        The part of the site that the page belongs to: "atlas", "compare", "playground", "guide" or "".
    current
        True for the first page of the section.
    values
        The values that the template uses, by name. ``policy`` adds sources to the content security policy, by
        directive.

    """
    policy = content_policy(values.pop("policy", {}))
    shared = {"root": "../" * path.count("/"), "section": section, "current": current, "policy": policy}
    made = (
        environment().get_template(f"site/{template}").render(shared | {"version": _version(), "path": path} | values)
    )
    return SiteFile(path, made.encode())


def content_policy(more: Mapping[str, Sequence[str]]) -> str:
    """Return the content security policy with further sources.

    >>> content_policy({"connect-src": ("'self'",)}).split("; ")[-1]
    "connect-src 'self'"
    """
    sources = {name: (*POLICY.get(name, ()), *more.get(name, ())) for name in [*POLICY, *more]}
    return "; ".join(f"{name} {' '.join(each)}" for name, each in sources.items())


def shared_files() -> Iterator[SiteFile]:
    """Yield the files that all pages load: the style sheet, the font of formulas and the icon."""
    yield SiteFile("assets/site.css", style().encode())
    yield SiteFile(f"assets/{FONT}", (templates() / "fonts" / FONT).read_bytes())
    yield SiteFile("assets/icon.svg", (templates() / "site" / "icon.svg").read_bytes())


@cache
def style() -> str:
    """Return the style sheet: the one of derivations, with the font in its own file, and the site's own."""
    derivation = (templates() / "derivation.css").read_text("utf-8").replace(EMBEDDED, FONT)
    return derivation + (templates() / "site" / "site.css").read_text("utf-8")


def _version() -> str:
    from .. import __version__

    return __version__
