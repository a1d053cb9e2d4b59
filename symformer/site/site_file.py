"""What every part of the site is made from, and its files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from click import Command


@dataclass(frozen=True)
class SiteFile:
    """A file of the site.

    Attributes
    ----------
    path
        The path below the root of the site, with slashes, such as ``models/gpt2.html``.
    content
        The bytes of the file.

    """

    path: str
    content: bytes


@dataclass(frozen=True)
class SiteOptions:
    """The options of the site.

    Attributes
    ----------
    base_url
        The address at which the site will be served, such as ``https://symformer.github.io/symformer/``. Only the
        sitemap and the metadata of links need it; all links within the site are relative. None leaves them out.
    targets
        The names of the models with a page, or None for all of them.
    endpoint
        The address from which the playground fetches the config.json of a model on the Hub.
    wheels
        A folder of wheels built for Pyodide, such as numpy's, that the playground can load, or None.
    commands
        The commands that the playground offers as forms, by name.
    pdf
        Whether the playground has the Typst compiler, with which it writes PDF.

    """

    base_url: str | None = None
    targets: tuple[str, ...] | None = None
    endpoint: str = "https://huggingface.co"
    wheels: str | None = None
    commands: Mapping[str, Command] = field(default_factory=dict)
    pdf: bool = True


class SitePart(Protocol):
    """A part of the site, such as the atlas."""

    def __call__(self, options: SiteOptions) -> Iterator[SiteFile]:
        """Return the files of this part, each made when it is taken; wrong options are an error at once."""
