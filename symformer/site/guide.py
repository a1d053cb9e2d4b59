"""The guide: the pages of ``docs``, which Sphinx builds."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from shutil import copyfile, copytree, ignore_patterns
from tempfile import TemporaryDirectory

from ..documents.formats.html import script_hash
from ..language.errors import SiteError
from .site_file import SiteFile, SiteOptions
from .site_page import content_policy

FOLDER = "guide"
INSTALL = "pip install 'symformer[site]'"
NEEDED = ("sphinx", "myst_parser", "numpydoc", "furo")
# What Sphinx writes for itself, and maps for the authors of the theme.
LEFT_OUT = (".buildinfo", ".map", ".doctree", ".pickle")
# The theme styles a few elements in attributes, which a content security policy cannot allow by a hash. Blocks that can
# be scrolled must be reachable by the keyboard, and landmarks need names.
REPLACED = {
    'style="display: none;"': 'display="none"',
    'style="opacity: 50%"': 'opacity="0.5"',
    "<pre>": '<pre tabindex="0">',
    '<aside class="announcement-content">': '<aside class="announcement-content" aria-label="Site">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="Pages of the guide">',
    '<aside class="toc-drawer"': '<aside aria-label="Contents of this page" class="toc-drawer"',
    '<aside class="toc-drawer no-toc"': '<aside aria-label="Contents of this page" class="toc-drawer no-toc"',
}
_INLINE = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)
_CHARSET = '<meta charset="utf-8">'
_SIGNATURE = re.compile(r'<dt(?: class="sig .*?)?>.*?</dt>', re.DOTALL)  # of a Python object or an option
_UNBROKEN = re.compile(r'<span class="pre">([^<]*)</span>')  # a word that no line may break, which no signature has


def guide_files(options: SiteOptions) -> Iterator[SiteFile]:
    """Return the files of the guide, which is built when the first one is taken. A missing Sphinx is an error at once.

    Parameters
    ----------
    options
        The options of the site; the guide is the same for all of them.

    Raises
    ------
    SiteError
        If Sphinx is not installed, or if it reports a problem, such as a link without a target.

    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise SiteError(f"the guide needs {missing[0]}; run {INSTALL}")
    return _files()


def _files() -> Iterator[SiteFile]:
    with TemporaryDirectory() as name:
        built = _built(Path(name))
        for path in sorted(built.rglob("*")):
            if path.is_file() and not path.name.endswith(LEFT_OUT):
                content = path.read_bytes()
                if path.suffix == ".html":
                    content = secured(shortened(content.decode())).encode()
                yield SiteFile(f"{FOLDER}/{path.relative_to(built).as_posix()}", content)


def shortened(page: str) -> str:
    """Return a page without elements and classes that have no effect, a tenth of a long page.

    A signature has no element that only forbids line breaks, and code has no class without a style.

    >>> shortened('<dt class="sig py"><em><span class="pre">x</span></em></dt><span class="pre">x-y</span>')
    '<dt class="sig py"><em>x</em></dt><span class="pre">x-y</span>'
    """
    page = page.replace('<code class="docutils literal ', '<code class="literal ')
    return _SIGNATURE.sub(lambda found: _UNBROKEN.sub(r"\1", found[0]), page)


def docs() -> Path:
    """Return the folder of sources: inside the package in a wheel, at the top level in the repository."""
    package = Path(str(files("symformer")))
    for folder in (package / "docs", package.parent / "docs"):
        if (folder / "conf.py").is_file():
            return folder
    raise SiteError(f"the sources of the guide are missing next to {package}; reinstall symformer")


def secured(page: str) -> str:
    """Return a page of the guide with a content security policy that allows its own inline scripts and styles.

    >>> found = secured('<meta charset="utf-8"><style>a {}</style>')
    >>> "style-src 'self' 'sha256-" in found, "unsafe" in found
    (True, False)
    """
    for written, instead in REPLACED.items():
        page = page.replace(written, instead)
    hashes: Mapping[str, list[str]] = {"script": [], "style": []}
    for kind, text in _INLINE.findall(page):
        source = script_hash(text)
        if source not in hashes[kind]:
            hashes[kind].append(source)
    more: dict[str, Sequence[str]] = {f"{kind}-src": found for kind, found in hashes.items()}
    # The search of the guide is a form; its pictures are part of the style sheet.
    policy = content_policy({**more, "img-src": ("data:",)}).replace("form-action 'none'", "form-action 'self'")
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}"><meta name="referrer" content="no-referrer">'
    return page.replace(_CHARSET, _CHARSET + meta, 1)


def _built(folder: Path) -> Path:
    """Build the guide in a folder, where Sphinx also writes the stubs of the API. Return the folder of the pages."""
    import subprocess

    sources = folder / "docs"
    copytree(docs(), sources, ignore=ignore_patterns("_build", "__pycache__"))
    copyfile(docs().parent / "CONTRIBUTING.md", folder / "CONTRIBUTING.md")
    # -I and our own sys.path: the subprocess imports modules from the same folders as this process. A process of its
    # own, because Sphinx changes docutils, the locale and sys.path.
    start = f"import sys; sys.path[:] = {sys.path!r}; from sphinx.cmd.build import main; sys.exit(main(sys.argv[1:]))"
    arguments = ["-q", "-W", "--keep-going", "-b", "html", "-d", str(folder / "doctrees"), "docs", "html"]
    ran = subprocess.run(  # noqa: S603
        [sys.executable, "-I", "-c", start, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        raise SiteError(f"Sphinx cannot build the guide: {_reason(ran.stderr).replace(f'{folder}/', '')}")
    return folder / "html"


def _reason(said: str) -> str:
    r"""Return the first warning of Sphinx, or else the last exception.

    >>> _reason("a.md:3: WARNING: no target\n  | ValueError: text\n  +----")
    'a.md:3: WARNING: no target'
    >>> _reason("Traceback\n  | ImportError: no torch\n  +----")
    'ImportError: no torch'
    """
    lines = [line.strip(" |+-") for line in said.splitlines()]
    warnings = [line for line in lines if "WARNING: " in line or "ERROR: " in line]
    exceptions = [line for line in lines if re.match(r"[\w.]+(Error|Exception)\b", line)]
    return [*warnings[:1], *exceptions[-1:], "it stopped without a reason"][0]
