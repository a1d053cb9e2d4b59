"""Printing a document: one Jinja template a language, PDF through Typst or LaTeX; a file is written whole or not."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Literal

from ..errors import DocumentError
from .blocks import Document
from .languages import LANGUAGES

Engine = Literal["typst", "latex"]
FORMATS = ("pdf", "tex", "md", "typ")


def spell(document: Document, language: str) -> str:
    """A document in one language: md, tex or typ."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    spoken = LANGUAGES[language]
    # The delimiters are ones that none of the languages uses; every value is escaped by the language itself.
    environment = Environment(  # noqa: S701
        loader=FileSystemLoader(templates()),
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<%=",
        variable_end_string="%>",
        comment_start_string="<#",
        comment_end_string="#>",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    return environment.get_template(spoken.template).render(document=document, language=spoken)


def templates() -> Path:
    """The folder of templates: inside the package of a wheel, at the top level of the repository."""
    package = Path(__file__).parent.parent
    for folder in (package / "templates", package.parent / "templates"):
        if folder.is_dir():
            return folder
    raise DocumentError(f"the templates of symformer are missing beside {package}; install symformer again")


def render(document: Document, extension: str, engine: Engine = "typst") -> bytes:
    """A document as the bytes of a file. Raises DocumentError for an unknown format or a missing engine."""
    if extension not in FORMATS:
        known = ", ".join(f".{name}" for name in FORMATS)
        later = "HTML is not written yet; " if extension in ("html", "htm") else ""
        raise DocumentError(f"{later}a derivation is written as {known}, not as .{extension}")
    if extension != "pdf":
        return spell(document, extension).encode()
    return _latex_pdf(spell(document, "tex")) if engine == "latex" else _typst_pdf(spell(document, "typ"))


def _typst_pdf(source: str) -> bytes:
    import typst

    pdf: bytes = typst.compile(source.encode(), format="pdf", ignore_system_fonts=True, timestamp=0)
    return pdf


def _latex_pdf(source: str) -> bytes:
    command = shutil.which("pdflatex")
    if command is None:
        raise DocumentError("pdflatex is not on PATH; install a TeX distribution or leave --engine at typst")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "derivation.tex").write_text(source, "utf-8")
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "0", "FORCE_SOURCE_DATE": "1"}
        for _ in range(2):  # the second run sets the columns of long tables
            run = subprocess.run(  # noqa: S603
                [command, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "derivation.tex"],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
            if run.returncode:
                trouble = next((line for line in run.stdout.splitlines() if line.startswith("!")), "no reason given")
                raise DocumentError(f"pdflatex refused the document: {trouble}")
        return (Path(folder) / "derivation.pdf").read_bytes()


def write(path: str, content: bytes) -> None:
    """Write a file whole or not at all. Raises DocumentError when its folder is missing or it cannot be written."""
    target = Path(path)
    folder = target.parent
    if not folder.is_dir():
        raise DocumentError(f"the folder {folder} does not exist; make it first, or write elsewhere")
    if target.is_dir():
        raise DocumentError(f"{path} is a folder; give the name of a file")
    if target.exists() and not os.access(target, os.W_OK):
        raise DocumentError(f"{path} is not writable; choose another file, or change its permissions")
    try:
        handle, partial = tempfile.mkstemp(dir=folder, prefix=f".{target.name}.")
    except OSError as error:
        raise DocumentError(f"{path} cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(partial, _permissions(target))
        os.replace(partial, target)
    except OSError as error:
        Path(partial).unlink(missing_ok=True)
        raise DocumentError(f"{path} cannot be written: {error.strerror}") from None


def _permissions(target: Path) -> int:
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
