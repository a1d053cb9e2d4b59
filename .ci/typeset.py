"""Typeset the documents of every architecture with pdflatex, one process per core."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from multiprocessing import get_context
from pathlib import Path

from symformer.architectures import architecture, names
from symformer.documents.derivation_document import document
from symformer.documents.formats import render
from symformer.documents.gallery_pages import OF_COSTS, OF_RANK, WHOLE, derived, example
from symformer.documents.macros import MacroRequest, spelt
from symformer.documents.worksheet import worksheet
from symformer.output.blocks import Document
from symformer.views.derivation_facts import derivation_facts, formulas_of
from symformer.views.exercise_facts import exercise_facts


def typeset(stem: str) -> str:
    """Write and compile one document. Return the error messages, or "" if there are none."""
    # a model may not support some costs; the document has the others
    of_costs = stem.endswith((OF_COSTS, OF_RANK))
    paper = derived(stem, "0") if of_costs else document(example(stem), ["params", "flops"], "0", "costs")
    # rows of costs may be wider than a page of LaTeX; rows of parameters must fit
    return _typeset(stem, paper, fits=not of_costs)


def other_forms(name: str) -> str:
    """Write and compile the worksheet and the short form of a model. Return the error messages, or ""."""
    model = architecture(name)
    found = derivation_facts(model, ["params"], {})
    sheet = worksheet(found, exercise_facts(found.subject, found.quantities[0]), "0")
    short = document(model, ["params"], "0", form="short")
    said = [_typeset(f"{name}-worksheet", sheet, fits=True), _typeset(f"{name}-short", short, fits=True)]
    return "\n".join(filter(None, said))


def _typeset(stem: str, paper: Document, fits: bool) -> str:
    """Write and compile a document, all of whose lines must fit the page if ``fits``. Return the error messages."""
    Path(f"{stem}.tex").write_bytes(render(paper, "tex"))
    for _ in range(2):  # the second run sets the column widths of long tables
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{stem}.tex"]
        run = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # noqa: S603
        if run.returncode:
            return run.stdout.decode(errors="replace")
    said = Path(f"{stem}.log").read_text(errors="replace").splitlines()
    if warned := [line for line in said if line.startswith("Package amsmath Warning")]:
        return "\n".join(warned)
    wide = [line for line in said if line.startswith("Overfull")]
    return "" if not fits or not wide else "\n".join([*wide, f"{stem}.tex has lines that do not fit the page"])


COLUMNS = ("gpt2", "deepseek-v3", "t5", "mamba2", "bert-base-uncased")  # other forms of these are typeset, too
ARTICLE = r"""\documentclass[10pt,twocolumn]{article}
\usepackage{amsmath,booktabs}
\input{NAME-macros}
\begin{document}
\section{Parameters}\input{NAME-fragment}
MACROS
\end{document}
"""


def in_columns(name: str) -> str:
    """Compile a fragment and the macros of a model in a two-column article. Return the error messages, or ""."""
    model, asked = architecture(name), ("params",)
    made = spelt(model, formulas_of(model, asked, {}), MacroRequest("0", name, asked, {}, ()))
    Path(f"{name}-macros.tex").write_bytes(made)
    Path(f"{name}-fragment.tex").write_bytes(render(document(model, asked, "0"), "fragment"))
    used = re.findall(r"^\\newcommand\{(\\\w+)\}", made.decode(), re.MULTILINE)
    every = "{}, ".join(each for each in used if each.endswith(("Value", "Raw", "SI")))
    formulas = "{}\n\n".join(each for each in used if each + "Value" in used and len(each) < 40)
    text = ARTICLE.replace("NAME", name).replace(
        "MACROS", f"{{\\sloppy {every}{{}}.\\par\n\\raggedright {formulas}{{}}\\par}}"
    )
    Path(f"{name}-columns.tex").write_text(text)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", f"{name}-columns.tex"]
    run = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # noqa: S603
    if run.returncode:
        return run.stdout.decode(errors="replace")
    log = Path(f"{name}-columns.log").read_text(errors="replace")
    wide = [line for line, over in re.findall(r"(Overfull \\hbox \(([\d.]+)pt.*)", log) if float(over) > 5]
    return "\n".join([*wide, f"{name}-fragment.tex has lines that do not fit a column"]) if wide else ""


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    stems = [OF_RANK, *(name + OF_COSTS for name in WHOLE), *names()]  # the slowest first
    with get_context("fork").Pool() as pool:
        wrong = [trouble for trouble in pool.imap_unordered(typeset, stems) if trouble]
        wrong += [trouble for trouble in pool.imap_unordered(in_columns, COLUMNS) if trouble]
        wrong += [trouble for trouble in pool.imap_unordered(other_forms, COLUMNS) if trouble]
    if wrong:
        sys.exit("\n".join(wrong))
    sys.stdout.write(f"{len(stems)} documents and {len(COLUMNS)} fragments, worksheets and short forms\n")
