"""The playground: a page that runs symformer in the browser, with Python, the packages and the lists that it loads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from urllib.parse import urlsplit

from ..configs.config_json import MAX_BYTES
from ..documents.formats.base_language import environment, templates
from .browser_answers import USUAL_COSTS
from .command_forms import command_forms
from .npm_package import node
from .package_archive import check_wheels, package_archive
from .pyodide_release import pyodide_files
from .site_address import checked_origin
from .site_file import SiteFile, SiteOptions
from .site_page import Metadata, shared_files, site_page
from .typst_release import SCRIPT as TYPST_SCRIPT
from .typst_release import TYPST, typst_archive

FOLDER = "assets/playground"
SCRIPTS = ("playground.js", "worker.js", "python.mjs")
EMPTY_ZIP = b"PK\5\6" + bytes(18)  # Pyodide loads its standard library as an archive; ours is in packages.bin.gz


def playground(options: SiteOptions) -> Iterator[SiteFile]:
    """Return the files of the playground, which are made when the first one is taken.

    Raises
    ------
    SiteError
        At once if the endpoint is not an address, a wheel is not one for Pyodide, or Node.js or Pyodide is missing; and
        later if the packages cannot be packed.

    """
    endpoint = checked_origin(options.endpoint)
    check_wheels(options.wheels)
    node()
    return _files(options, endpoint, pyodide_files(), TYPST.files() if options.pdf else {})


def _files(
    options: SiteOptions, endpoint: str, release: Mapping[str, bytes], typst: Mapping[str, bytes]
) -> Iterator[SiteFile]:
    packages = package_archive(release, options.wheels)
    compiler = [SiteFile(f"{FOLDER}/typst.bin.gz", typst_archive(typst))] if typst else []
    compiler_bytes = sum(len(file.content) for file in compiler)
    page = site_page(
        "playground.html.jinja",
        "playground.html",
        "playground",
        options=options,
        metadata=Metadata(
            "Playground: formulas of any transformer in the browser",
            "Parameters, FLOPs, memory, figure and derivation of any transformer, computed in your browser.",
        ),
        current=True,
        policy={
            "script-src": ("'wasm-unsafe-eval'",),
            "worker-src": ("'self'",),
            "connect-src": ("'self'", endpoint),
        },
        endpoint=endpoint,
        host=urlsplit(endpoint).netloc,
        bytes=len(packages),
        compiler_bytes=compiler_bytes,
        most=MAX_BYTES,
        costs=" ".join(USUAL_COSTS),
        quantities=_quantities(),
    )
    files = [page, *_assets(release, packages, options)]
    if typst:
        files.append(SiteFile(f"{FOLDER}/{TYPST_SCRIPT}", typst[TYPST_SCRIPT]))
        files.append(SiteFile(f"{FOLDER}/typst.mjs", (templates() / "site" / "typst.mjs").read_bytes()))
    yield from [*files, *compiler]
    yield _service_worker([*files, *shared_files()], compiler)


def _quantities() -> list[tuple[str, str]]:
    from ..quantities import quantities, quantity

    names = sorted(quantities(), key=lambda name: (name not in USUAL_COSTS, name))
    usual = [name for name in USUAL_COSTS if name in names]
    return [(name, quantity(name).measure.title) for name in [*usual, *names[len(usual) :]]]


def _assets(release: Mapping[str, bytes], packages: bytes, options: SiteOptions) -> Iterator[SiteFile]:
    for name in SCRIPTS:
        yield SiteFile(f"{FOLDER}/{name}", (templates() / "site" / name).read_bytes())
    for name in ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm"):
        yield SiteFile(f"{FOLDER}/{name}", release[name])
    yield SiteFile(f"{FOLDER}/python_stdlib.zip", EMPTY_ZIP)
    yield SiteFile(f"{FOLDER}/packages.bin.gz", packages)
    for name, told in (("commands", command_forms(options.commands)), ("models", _models())):
        yield SiteFile(f"{FOLDER}/{name}.json", json.dumps(told, separators=(",", ":")).encode())


def _models() -> list[list[str]]:
    """Return the names that the playground suggests, each with its id on the Hub if it has one."""
    from .. import architectures
    from ..catalogue.entries import classes
    from ..targets.opened_target import names

    presets = architectures.presets()
    found = [[name, *filter(None, [presets.get(name, {}).get("hub")])] for name in names()]
    return [*found, *([f"hf:{kind}"] for kind in sorted({model_type for _, model_type in classes()}))]


def _service_worker(files: Sequence[SiteFile], later: Sequence[SiteFile]) -> SiteFile:
    """Return the service worker, which keeps these files in a store named after their contents.

    It fetches the files at the first visit, and the later ones when the page needs them.
    """
    digest = sha256()
    for file in [*files, *later]:
        digest.update(f"{file.path}\0{len(file.content)}\0".encode() + file.content)
    paths = {name: json.dumps([file.path for file in each]) for name, each in (("paths", files), ("later", later))}
    made = environment().get_template("site/sw.js.jinja").render(digest=digest.hexdigest()[:16], **paths)
    return SiteFile("sw.js", made.encode())
