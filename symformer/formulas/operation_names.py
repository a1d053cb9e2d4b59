"""The printed names of rows and terms, with standard terms for operations that are no modules.

The path of such an operation, such as ``h.*.attn.mix``, is its name in Python and in JSON; people read "weighted
values".
"""

from __future__ import annotations

from collections.abc import Mapping

from ..ledger.facts import Entry, OperationKind
from .account import Line, Term

CACHED = ("cache", "recurrent state")  # purposes of the bytes that a layer stores between tokens
_TERMS = {OperationKind.SCORES: ("scores", "attention scores"), OperationKind.MIX: ("mix", "weighted values")}
_INDEXER = ("indexer", "index scores")  # of DeepSeek-V3.2, section 2.1, which are not the scores of its attention


def row_names(root: Line) -> Mapping[str, str]:
    """Return the printed name of each row that its path does not name, by its path.

    A row of a cache has the name of what it stores, as the keys are counted where the scores read them.

    Examples
    --------
    >>> import symformer as sf
    >>> gpt2 = sf.architecture("gpt2")
    >>> list(row_names(gpt2.formula("flops").root).values())
    ['h.*.attn (attention scores)', 'h.*.attn (weighted values)']
    >>> list(row_names(gpt2.formula("kv-cache").root).values())
    ['h.*.attn (keys)', 'h.*.attn (values)']

    """
    found: dict[str, set[str]] = {}
    for _, line in root.leaves():
        if line.entry is not None:
            found.setdefault(line.path, set()).update(_names(line, line.entry))
    return {path: next(iter(names)) for path, names in found.items() if len(names) == 1 and path not in names}


def _names(line: Line, entry: Entry) -> set[str]:
    """Return the names of the row of an operation: one for each of its terms that has its own."""
    owner = line.path if entry.module else line.path.rpartition(".")[0]
    stored = {term.label.partition(" (")[2] if term.purpose in CACHED else "" for term in line.terms}
    term = standard_term(entry)
    own = f"{owner} ({term})".lstrip() if term else line.path
    return {f"{owner} ({what}".lstrip() if what else own for what in stored} or {own}


def term_name(entry: Entry | None, term: Term) -> str:
    """Return the printed label of a term of an operation, such as "mix (values)" as "weighted values (values)"."""
    standard = "" if entry is None else standard_term(entry)
    if entry is None or not standard or not term.label.startswith(entry.path):
        return term.label
    owner, rest = entry.path.rpartition(".")[0], term.label.removeprefix(entry.path)
    shown = rest.strip(" ()") if term.purpose in CACHED and rest else f"{standard}{rest}"
    return f"{owner}.{shown}" if owner else shown


def standard_term(entry: Entry) -> str:
    """Return the standard term for an operation whose name in the ledger is none, or an empty string."""
    before, _, last = entry.path.rpartition(".")
    name, term = _TERMS.get(entry.kind, ("", ""))
    if entry.module or last != name:
        return ""
    return _INDEXER[1] if before.rpartition(".")[2] == _INDEXER[0] else term
