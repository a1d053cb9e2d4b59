"""Printing a document: one Jinja template a language, PDF through Typst or LaTeX; a file is written whole or not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from ..errors import DocumentError
from .blocks import Document
from .languages import LANGUAGES

Engine = Literal["typst", "latex"]
ARCHIVED: Final = "a-2b"  # the PDF standard
ODD = 8  # characters that an error names
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
    """A document as the bytes of a file: pdf, tex, md or typ. Raises DocumentError for a missing engine."""
    if extension != "pdf":
        return spell(document, extension).encode()
    return _latex_pdf(spell(document, "tex")) if engine == "latex" else _typst_pdf(spell(document, "typ"))


def _typst_pdf(source: str) -> bytes:
    """PDF/A, for which Typst refuses a character that none of its fonts has, and prints no box in its place."""
    pdf: bytes = _typst(source, format="pdf", pdf_standards=ARCHIVED)
    return pdf


def picture(document: Document) -> bytes:
    """The first page of a document as a PNG."""
    drawn = _typst(spell(document, "typ"), format="png", ppi=100)
    first: bytes = drawn[0] if isinstance(drawn, list) else drawn
    return first


def _typst(source: str, **arguments: Any) -> Any:
    """What Typst makes of a document, the same bytes every time, with no file of the machine's in reach."""
    import typst

    try:
        return typst.compile(source.encode(), root=templates(), ignore_system_fonts=True, timestamp=0, **arguments)
    except RuntimeError as error:
        said = _unprinted(source) or f"Typst refused the document: {str(error).partition(chr(10))[0]}"
        raise DocumentError(said) from None


def _unprinted(source: str) -> str:
    """What a document has that no font has; empty where every character of it can be printed."""
    import typst

    odd = []
    for each in sorted(character for character in set(source) if not character.isascii()):
        try:
            typst.compile(
                f"#{json.dumps(each, ensure_ascii=False)}".encode(), ignore_system_fonts=True, pdf_standards=ARCHIVED
            )
        except RuntimeError:
            odd.append(f"{each} (U+{ord(each):04X})")
    named = ", ".join(odd[:ODD]) + (", …" if len(odd) > ODD else "")
    return named and (
        f"the fonts for PDFs have no {named}; write .md, .tex or .typ, or keep such characters out of names"
    )


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


def check_output(path: str, what: str = "a derivation", formats: Sequence[str] = FORMATS) -> str:
    """The format a file's name asks for. Raises DocumentError before any work is done where it cannot be written."""
    target = Path(path)
    extension = target.suffix.removeprefix(".").lower()
    if not path.strip():
        raise DocumentError("the name of the file is empty; give one, such as derivation.pdf")
    if target.is_dir():
        raise DocumentError(f"{path} is a folder; give the name of a file, such as {path.rstrip('/')}/derivation.pdf")
    if extension not in formats:
        known = ", ".join(f".{name}" for name in formats)
        asked = f"not as .{extension}" if extension else f"and {path!r} ends in none of these"
        raise DocumentError(f"{what} is written as {known}, {asked}")
    if not target.parent.is_dir():
        raise DocumentError(f"the folder {target.parent} does not exist; make it first, or write elsewhere")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise DocumentError(f"{path} cannot be written: permission denied")
    return extension


def write(path: str, content: bytes) -> None:
    """Write a file whole or not at all. Raises DocumentError when it cannot be written."""
    target = Path(path)
    folder = target.parent
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


def write_all(folder: str, made: Mapping[str, bytes]) -> None:
    """Write files into a folder that is there. Raises DocumentError."""
    if not Path(folder).is_dir():
        raise DocumentError(f"the folder {folder} does not exist; make it first, or write elsewhere")
    for name, content in made.items():
        write(str(Path(folder) / name), content)


def stale(folder: str, made: Mapping[str, bytes], besides: Sequence[str] = ()) -> list[str]:
    """The files that are missing or differ from what would be written, and those that nothing writes.

    Those in ``besides`` are written by something else.
    """
    files = [place for place in Path(folder).iterdir() if place.is_file() and place.name not in besides]
    there = {place.name: place.read_bytes() for place in files}
    return sorted(name for name in {*there, *made} if there.get(name) != made.get(name))
