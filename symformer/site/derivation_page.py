"""The derivation of an architecture as a page of the site.

Its style sheet, font and script are files that all pages share; the file that ``derive -o x.html`` writes has its own.
"""

from __future__ import annotations

from .. import __version__
from ..documents.derivation_document import document
from ..documents.formats.site_html import SitePage
from ..models.model import Model
from .atlas_entry import AtlasEntry
from .atlas_target import AtlasTarget
from .site_file import SiteFile, SiteOptions
from .site_page import Metadata, site_page

COMPLETE = SitePage(largest=None)  # figures with all their detail


def derivation_page(entry: AtlasEntry, target: AtlasTarget, model: Model, options: SiteOptions) -> SiteFile:
    """Return the derivation of the parameters. Raises SymformerError."""
    found = document(model, ["params"], __version__)
    return site_page(
        "derivation.html.jinja",
        f"derivations/{target.slug}.html",
        "atlas",
        options=options,
        metadata=Metadata(f"{found.title} · symformer", found.subtitle),
        entry=entry,
        slug=target.slug,
        document=found,
        body=COMPLETE.body(found.blocks),
    )
