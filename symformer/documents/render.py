"""Printing a document: one Jinja template a language, PDF through Typst or LaTeX; a file is written whole or not."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from ..language.errors import DocumentError
from .blocks import Document
from .languages import LANGUAGES

if TYPE_CHECKING:
    from jinja2 import Environment

Engine = Literal["typst", "latex"]
ARCHIVED: Final = "a-2b"  # the PDF standard
ODD = 8  # characters that an error names
FORMATS = ("pdf", "tex", "md", "typ")
LATEX_SECONDS = 120  # a first run may make fonts
MOST_SAID = 1_000_000  # bytes of what pdflatex says that are read
_SPECIAL = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}


def spell(document: Document, language: str) -> str:
    """A document in one language: md, tex or typ."""
    spoken = LANGUAGES[language]
    return _environment().get_template(spoken.template).render(document=document, language=spoken)


@cache
def _environment() -> Environment:
    """What reads the templates, each once."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # The delimiters are ones that none of the languages uses; every value is escaped by the language itself.
    return Environment(  # noqa: S701
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
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        (Path(folder) / "derivation.tex").write_text(source, "utf-8")
        for _ in range(2):  # the second run sets the columns of long tables
            status, said = _run_latex(command, folder)
            if status:
                how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
                trouble = next((line[:200] for line in said.splitlines() if line.startswith("!")), "it gave no reason")
                raise DocumentError(f"pdflatex {how} and made no PDF: {trouble}")
        made = Path(folder) / "derivation.pdf"
        content = made.read_bytes() if made.is_file() else b""
        if not content.startswith(b"%PDF"):
            raise DocumentError("pdflatex ended well and left no PDF; leave --engine at typst")
        return content


def _run_latex(command: str, folder: str) -> tuple[int, str]:
    """One run of pdflatex: its status and what it said. Raises DocumentError where it cannot start or does not end."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "0", "FORCE_SOURCE_DATE": "1"}
    with tempfile.TemporaryFile() as heard:
        try:
            run = subprocess.Popen(  # noqa: S603
                [command, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "derivation.tex"],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=heard,
                stderr=heard,
                start_new_session=True,  # so that it can be ended with all that it started
            )
        except OSError as error:
            raise DocumentError(f"{command} cannot be run: {error.strerror}") from None
        try:
            status = run.wait(LATEX_SECONDS)
        except subprocess.TimeoutExpired:
            raise DocumentError(
                f"pdflatex did not end within {LATEX_SECONDS} seconds; leave --engine at typst, or see why"
            ) from None
        finally:
            _end(run)
        heard.seek(0)
        return status, heard.read(MOST_SAID).decode("utf-8", "replace")


def _end(run: subprocess.Popen[bytes]) -> None:
    """End a process that still runs, and whatever it started."""
    if run.poll() is None:
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(run.pid, signal.SIGKILL)
            else:
                run.kill()
        run.wait()


def check_output(
    path: str, what: str = "a derivation", formats: Sequence[str] = FORMATS, chosen: str | None = None
) -> str:
    """The format that a file's name asks for, or the one chosen for standard output, which is ``-``.

    Raises DocumentError before any work is done where the file cannot be written.
    """
    known = ", ".join(f".{name}" for name in formats)
    if not path.strip():
        raise DocumentError("the name of the file is empty; give one, such as derivation.pdf")
    if path == "-":
        if chosen is None:
            raise DocumentError(f"{what} is written to a file; give its name, such as FILE.{formats[0]}")
        if not chosen:
            raise DocumentError("-o - is standard output, whose name tells no format; give one, as in --as md")
        return chosen
    extension = Path(path).suffix.removeprefix(".").lower()
    target = _place(path)
    if target.is_dir():
        raise DocumentError(f"{path} is a folder; give the name of a file, such as {path.rstrip('/')}/derivation.pdf")
    if extension not in formats:
        asked = f"not as .{extension}" if extension else f"and {path!r} ends in none of these"
        raise DocumentError(f"{what} is written as {known}, {asked}")
    if chosen and chosen != extension:
        raise DocumentError(f"{path} ends in .{extension} and --as asks for {chosen}; keep one of the two")
    if not target.parent.is_dir():
        raise DocumentError(f"the folder {target.parent} does not exist; make it first, or write elsewhere")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise DocumentError(f"{path} cannot be written: permission denied")
    return extension


def check_folder(folder: str, to_write: bool = True) -> None:
    """Raise DocumentError where a folder is not there to be read, or to be written into."""
    if not os.path.isabs(folder):
        _here()
    try:
        there = Path(folder).is_dir()
    except OSError as error:
        raise DocumentError(f"{folder} cannot be a folder: {error.strerror}") from None
    if not there:
        raise DocumentError(f"the folder {folder} does not exist; make it first, or name another")
    if not os.access(folder, os.W_OK | os.X_OK if to_write else os.R_OK | os.X_OK):
        raise DocumentError(f"{folder} cannot be {'written into' if to_write else 'read'}: permission denied")


def _place(path: str) -> Path:
    """Where a file is written: what a link leads to, so that the link stays one.

    Raises DocumentError for what cannot be replaced by a file: a device, a pipe, a file with further names.
    """
    try:
        target = Path(path)
        if target.is_symlink():
            target = Path(os.path.realpath(path, strict=target.exists()))
        kind = target.stat()
    except FileNotFoundError:
        if not target.is_absolute():
            _here()
        return target
    except (OSError, RuntimeError, ValueError) as error:
        raise DocumentError(f"{path[:80]} cannot be written: {getattr(error, 'strerror', None) or error}") from None
    if stat.S_ISDIR(kind.st_mode):
        return target
    if not stat.S_ISREG(kind.st_mode):
        special = _SPECIAL.get(stat.S_IFMT(kind.st_mode), "no file")
        raise DocumentError(f"{path} is {special}, and what is written replaces a file; -o - writes to standard output")
    if kind.st_nlink > 1:
        raise DocumentError(
            f"{path} is one of {kind.st_nlink} names of a file (hard links), which writing it anew would part; "
            "remove it first, or write elsewhere"
        )
    return target


def _here() -> None:
    """Raise DocumentError where the working directory is gone."""
    try:
        os.getcwd()
    except OSError:
        raise DocumentError("the working directory has been deleted; change to one that is there") from None


def write(path: str, content: bytes) -> None:
    """Write a file whole or not at all. Raises DocumentError when it cannot be written."""
    target = _place(path)
    try:
        handle, partial = tempfile.mkstemp(dir=target.parent, prefix=".symformer-")
    except OSError as error:
        raise DocumentError(f"{path} cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(partial, _permissions(target))
        os.replace(partial, target)
    except BaseException as error:  # Ctrl-C among them: nothing half-written stays
        Path(partial).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise DocumentError(f"{path} cannot be written: {error.strerror}") from None
        raise


def _permissions(target: Path) -> int:
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def write_all(folder: str, made: Mapping[str, bytes]) -> None:
    """Write files into a folder that is there. Raises DocumentError, before the first where one cannot be written."""
    check_folder(folder)
    for name in made:
        _place(str(Path(folder) / name))
    for name, content in made.items():
        write(str(Path(folder) / name), content)


def stale(folder: str, made: Mapping[str, bytes], besides: Sequence[str] = ()) -> list[str]:
    """The files that are missing or differ from what would be written, and those that nothing writes.

    Those in ``besides`` are written by something else.
    """
    check_folder(folder, to_write=False)
    files = [place for place in Path(folder).iterdir() if place.is_file() and place.name not in besides]
    there = {place.name: place.read_bytes() for place in files}
    return sorted(name for name in {*there, *made} if there.get(name) != made.get(name))
