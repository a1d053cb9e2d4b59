"""Facts about the built-in architectures and components that take long to compute, stored in a file of the package.

``symformer list`` reads titles and formulas from the file, because it takes three times as long to build everything.
Derivations read the nearest relative. Anything that is not in the file, such as an architecture of another package, is
built.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from sympy import Expr

from .. import architectures, components
from ..algebra.relatives import Relative, compared_to_relative, nearest_relative
from ..language.notation.display_tree import Sum, Word, tree
from ..language.notation.text import code, text
from ..models.model import Model

FILE = Path(__file__).with_name("stored_summaries.json")
_SHOWN = 4  # differences from the nearest relative that a line states
COLUMN = 65  # characters of a formula in a column
COMPONENT = "component:"  # the prefix of a component's name, as in a target


@dataclass(frozen=True)
class Summary:
    """The title and the number of parameters of an architecture or a component."""

    title: str
    params: Expr


def brief(name: str) -> tuple[str, str]:
    """Return the title of an architecture or component, and its number of parameters as text of one column.

    Missing terms are replaced by an ellipsis. Raises UnknownNameError.
    """
    facts = _stored().get(name)
    if facts is None:
        found = built(name)
        return found.title, _shortened(found.params)
    return facts["title"], facts["brief"]


def _shortened(formula: Expr) -> str:
    shown = tree(formula)
    terms = shown.terms if isinstance(shown, Sum) else ()
    while terms and len(text(shown)) > COLUMN:
        terms = terms[:-1]
        shown = Sum((*terms, Word("…")))
    return text(shown)


def built(name: str) -> Summary:
    """Return a summary from the classes themselves. Raises UnknownNameError."""
    if name.startswith(COMPONENT):
        part = components.component(name.removeprefix(COMPONENT))
        return Summary(part.title, part.params.display_expr)
    model = architectures.architecture(name)
    return Summary(model.title, model.params.display_expr)


def relative_of(name: str) -> Relative | None:
    """Return the nearest relative of an architecture, or None if it has none."""
    facts = _stored().get(name)
    if facts is None:  # an architecture of another package
        return nearest_relative(name)
    return Relative(**facts["relative"]) if facts["relative"] else None


def relative_sentence(model: Model) -> str:
    """Return a sentence on how an architecture with its default options differs from its nearest relative, or ""."""
    facts = _stored().get(model.id, {})
    if not facts.get("relative") or model.component != type(model.component)():
        return ""
    name = facts["relative"]["name"]
    relative = f"{_stored()[name]['title']} ({name})"
    if not facts["differs"]:
        return f"{model.title} has the structure of {relative}"
    differences = facts["differs"].split("; ")
    shown, more = differences[:_SHOWN], len(differences) - _SHOWN
    return f"{model.title} differs from {relative} by: {'; '.join(shown)}" + (f"; and {more} more" if more > 0 else "")


def file_text() -> str:
    """Return the text of the file: one line for each built-in architecture and component."""
    rows = []
    for name in (*architectures.names(), *(f"{COMPONENT}{name}" for name in components.names())):
        found = built(name)
        facts: dict[str, Any] = {"title": found.title, "params": code(found.params), "brief": _shortened(found.params)}
        if not name.startswith(COMPONENT):
            relative = nearest_relative(name)
            own = architectures.architecture(name)
            facts["relative"] = asdict(relative) if relative else None
            facts["differs"] = compared_to_relative(own, relative.name).short if relative else ""
        rows.append(f"{json.dumps(name)}: {json.dumps(facts, ensure_ascii=False)}")
    return "{\n" + ",\n".join(rows) + "\n}\n"


@cache
def _stored() -> Mapping[str, Mapping[str, Any]]:
    found: Mapping[str, Mapping[str, Any]] = json.loads((files(__package__) / FILE.name).read_text("utf-8"))
    return found
