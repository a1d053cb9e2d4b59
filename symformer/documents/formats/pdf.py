"""PDF through Typst, or through the LaTeX that is on PATH; and the first page as a picture."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from ...language.errors import DocumentError
from ..blocks import Document
from .language import Format, templates
from .tex import FORMAT as LATEX
from .typ import PRINTED

STANDARD: Final = "ua-1"  # PDF/UA: tagged, and each formula in words
LATEX_SECONDS = 120  # a first run may make fonts
MOST_SAID = 1_000_000  # bytes of what pdflatex says that are read


class PDF(Format):
    """Pages, the same bytes every time."""

    def render(self, document: Document, engine: str) -> bytes:
        """Raises DocumentError for an engine that is missing."""
        return _latex_pdf(LATEX.spell(document)) if engine == "latex" else _typst_pdf(PRINTED.spell(document))


def _typst_pdf(source: str) -> bytes:
    """PDF/UA, for which Typst refuses a character that none of its fonts has, and prints no box in its place."""
    pdf: bytes = typst_bytes(source, format="pdf", pdf_standards=STANDARD)
    return pdf


def picture(document: Document) -> bytes:
    """The first page of a document as a PNG."""
    drawn = typst_bytes(PRINTED.spell(document), format="png", ppi=100)
    first: bytes = drawn[0] if isinstance(drawn, list) else drawn
    return first


def typst_bytes(source: str, **arguments: Any) -> Any:
    """What Typst makes of a document, the same bytes every time, with no file of the machine's in reach."""
    import typst

    try:
        return typst.compile(source.encode(), root=templates(), ignore_system_fonts=True, timestamp=0, **arguments)
    except RuntimeError as error:
        raise DocumentError(f"Typst refused the document: {str(error).partition(chr(10))[0]}") from None


def _latex_pdf(source: str) -> bytes:
    command = shutil.which("pdflatex")
    if command is None:
        raise DocumentError("pdflatex is not on PATH; install a TeX distribution or leave --engine at typst")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        (Path(folder) / "derivation.tex").write_text(source, "utf-8")
        for _ in range(
            3
        ):  # the second run sets the columns of long tables, the third the pages in the table of contents
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


FORMAT = PDF()
