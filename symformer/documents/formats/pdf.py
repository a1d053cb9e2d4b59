"""PDF through Typst or the LaTeX on PATH, and the first page as an image."""

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
from ...output.blocks import Document
from .base_language import Format, templates
from .tex import FORMAT as LATEX
from .typ import PRINTED

STANDARD: Final = "ua-1"  # PDF/UA: tagged, with alternative text for formulas
LATEX_SECONDS = 120  # the first run may generate fonts
MOST_SAID = 1_000_000  # maximum bytes read of pdflatex's output


class PDF(Format):
    """The PDF format, with reproducible bytes."""

    def render(self, document: Document, engine: str) -> bytes:
        """Return a document as PDF. Raises DocumentError if the engine is missing."""
        return _latex_pdf(LATEX.spell(document)) if engine == "latex" else typst_pdf(PRINTED.spell(document))


def typst_pdf(source: str) -> bytes:
    """Return PDF/UA, for which Typst rejects characters that its fonts lack, instead of printing boxes."""
    pdf: bytes = typst_bytes(source, format="pdf", pdf_standards=STANDARD)
    return pdf


def picture(document: Document) -> bytes:
    """Return the first page of a document as a PNG."""
    drawn = typst_bytes(PRINTED.spell(document), format="png", ppi=100)
    first: bytes = drawn[0] if isinstance(drawn, list) else drawn
    return first


def typst_bytes(source: str, **arguments: Any) -> Any:
    """Compile a document with Typst: reproducible bytes, no access to local files or fonts."""
    import typst

    try:
        return typst.compile(source.encode(), root=str(templates()), ignore_system_fonts=True, timestamp=0, **arguments)
    except RuntimeError as error:
        raise DocumentError(f"Typst rejected the document: {str(error).partition(chr(10))[0]}") from None


def _latex_pdf(source: str) -> bytes:
    command = shutil.which("pdflatex")
    if command is None:
        raise DocumentError("pdflatex is not on PATH; install a TeX distribution, or use --engine typst")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        (Path(folder) / "derivation.tex").write_text(source, "utf-8")
        for _ in range(
            3
        ):  # the second run sets the columns of long tables, the third the pages in the table of contents
            status, said = _run_latex(command, folder)
            if status:
                how = f"was stopped by signal {-status}" if status < 0 else f"failed with status {status}"
                trouble = next((line[:200] for line in said.splitlines() if line.startswith("!")), "no reason given")
                raise DocumentError(f"pdflatex {how} and wrote no PDF: {trouble}")
        made = Path(folder) / "derivation.pdf"
        content = made.read_bytes() if made.is_file() else b""
        if not content.startswith(b"%PDF"):
            raise DocumentError("pdflatex succeeded but wrote no PDF; use --engine typst")
        return content


def _run_latex(command: str, folder: str) -> tuple[int, str]:
    """Run pdflatex; return its status and output. Raises DocumentError if it cannot start or exceeds the time limit."""
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
                start_new_session=True,  # so that its child processes can be stopped too
            )
        except OSError as error:
            raise DocumentError(f"{command} cannot be run: {error.strerror}") from None
        try:
            status = run.wait(LATEX_SECONDS)
        except subprocess.TimeoutExpired:
            raise DocumentError(
                f"pdflatex did not finish within {LATEX_SECONDS} seconds; use --engine typst, or check TeX"
            ) from None
        finally:
            _end(run)
        heard.seek(0)
        return status, heard.read(MOST_SAID).decode("utf-8", "replace")


def _end(run: subprocess.Popen[bytes]) -> None:
    """Stop a running process and its child processes."""
    if run.poll() is None:
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(run.pid, signal.SIGKILL)
            else:
                run.kill()
        run.wait()


FORMAT = PDF()
