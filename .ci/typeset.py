"""Typeset every architecture's documents with pdflatex, as many at a time as there are cores."""

from __future__ import annotations

import os
import subprocess
import sys
from multiprocessing import get_context
from pathlib import Path

from symformer.architectures import names
from symformer.documents.derivation import document
from symformer.documents.formats import render
from symformer.documents.gallery import OF_COSTS, OF_RANK, WHOLE, derived, example


def typeset(stem: str) -> str:
    """One document: its .tex written and compiled; what went wrong, and nothing where all is well."""
    # a model refuses some of the costs; the rest stand in one document
    of_costs = stem.endswith((OF_COSTS, OF_RANK))
    paper = derived(stem, "0") if of_costs else document(example(stem), ["params", "flops"], "0", "costs")
    Path(f"{stem}.tex").write_bytes(render(paper, "tex"))
    for _ in range(2):  # long tables find their widths on the second run
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{stem}.tex"]
        run = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # noqa: S603
        if run.returncode:
            return run.stdout.decode(errors="replace")
    said = Path(f"{stem}.log").read_text(errors="replace").splitlines()
    wide = [line for line in said if line.startswith("Overfull")]
    # the rows of a cost may be wider than a page of LaTeX; those of a count are not
    return "" if of_costs or not wide else "\n".join([*wide, f"{stem}.tex has lines that do not fit the page"])


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    stems = [OF_RANK, *(name + OF_COSTS for name in WHOLE), *names()]  # the longest first
    with get_context("fork").Pool() as pool:
        wrong = [trouble for trouble in pool.imap_unordered(typeset, stems) if trouble]
    if wrong:
        sys.exit("\n".join(wrong))
    sys.stdout.write(f"{len(stems)} documents\n")
