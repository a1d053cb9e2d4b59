"""The titles of the parts of a model, and the places where each part is used."""

from __future__ import annotations

from collections.abc import Iterable

from sympy import Symbol, fraction

from ..components.base import Component
from ..formulas import part_labels
from ..formulas.account import Line as AccountLine
from ..formulas.derivation import Section
from ..formulas.formula import Formula
from ..formulas.part_labels import is_rest
from ..language.errors import joined
from ..language.notation.display_tree import Label
from ..language.symbols import letter
from ..output.blocks import Code, Line, Math, Paragraph, Piece, capital, listed, maybe
from ..views.module_names import is_layer_list, usual_name
from .layer_lists import class_path, in_class
from .part_computations import PartComputations

OUTSIDE = "Outside the layers"
COLON = ":"  # the end of the places of a part without a description


def title_of(section: Section, formula: Formula) -> Piece:
    """Return the title of a section: the title of a built-in part, or the usual name of a traced module.

    A traced module whose layers are counted separately is titled by what remains of it.
    """
    line = section.line
    if isinstance(line.part, Component):
        if not line.is_kind:
            return line.part.title
        meaning = letter(line.count).meaning if isinstance(line.count, Symbol) else ""
        if meaning.startswith("layers "):
            return capital(meaning)
        return "Other layers" if line.listed else Code(line.name)
    words = [word for word in line.path.split(".") if word != "*"]
    below = [one.path.removeprefix(f"{line.path}.") for one in line.walk()]
    below += ["experts"] * any(word.endswith("_experts") for word in line.key.split("."))
    last = words[-1] if words else ""
    if line.path.endswith("*") and is_layer_list(last):
        if line.is_kind:
            what = line.name.removeprefix(f"{last}_")
            return f"Layers of kind {what}" if what.isdigit() else f"Layers with {_with(what)}"
        return "Sublayer" if "*" in line.path.split(".")[:-1] else "All layers" if line.is_common else "Layer"
    if any(_is_list(path) for path in modules_apart(line, formula)):
        whole = [usual_name(each.path.rpartition(".")[2]) for each in section.lines]
        return f"{OUTSIDE} of the {joined(dict.fromkeys(whole))}" if all(whole) else OUTSIDE
    if usual := usual_name(last, below):
        return capital(usual)
    label = section.chain.labels[0] if section.chain else None
    own = label.name if isinstance(label, Label) else line.name
    return Code(own if own.rpartition(".")[2] in words or not words else last)  # the class has no conv_layers_1


def word_of(line: AccountLine) -> str:
    """Return the last word of the path of a traced module, and the name of any other part."""
    words = [word for word in line.path.split(".") if word not in ("*", "")]
    return line.name if isinstance(line.part, Component) or not words else words[-1]


def _is_list(path: str) -> bool:
    """Return True if a path of a traced module means the layers of a list."""
    return path.endswith(".*") and is_layer_list(path.split(".")[-2])


def _with(module: str) -> str:
    """Return what layers of one kind have, in words: an MLP instead of experts is a dense one."""
    usual = usual_name(module)
    article = {"MLP": "a dense ", "indexer": "an ", **dict.fromkeys(("Mamba mixer", "mixer", "router"), "a ")}
    return f"{article.get(usual, '')}{usual}" if usual else module


def place_lines(section: Section, formula: Formula, computes: PartComputations | None) -> list[Paragraph]:
    """Return the places where a part is used and its description, one paragraph per distinct description."""
    said: list[tuple[list[Piece], list[AccountLine]]] = []
    for line in section.lines:
        by_kind = computes is not None and computes.descriptions(line, formula)
        about = computes.about(line, formula) if computes and not by_kind else []
        same = next((lines for other, lines in said if other == about), None)
        if same is None:
            said.append((about, [line]))
        else:
            same.append(line)
    blocks: list[Paragraph] = []
    for about, lines in said:
        where: list[Piece] = []
        # Copies of one module that differ only in the backward pass are the same here.
        distinct = {(each.path, each.count): each for each in lines}.values()
        for line, path in _in_lists(distinct, formula):
            one = _layers(line, section.common is not None, first=not where)
            repeated = line.count != 1 or line.is_kind
            some = not repeated and _elsewhere(line, formula)
            where += [*maybe(where, "; " if some or repeated else ", "), *maybe(repeated, *one)]
            where += [*maybe(some, "in some of " if where else "In some of "), *path, *maybe(some, " only")]
            if apart := _apart(line, formula):
                where += [" without ", *listed(*([Code(other)] for other in apart))]
        kinds = [*_kinds(lines[0], formula)] if not isinstance(lines[0].part, Component) else []
        blocks.append(Paragraph([*where, *([". ", *about] if about else [". ", *kinds] if kinds else [COLON])]))
    return blocks


def _apart(line: AccountLine, formula: Formula) -> list[str]:
    """Return the submodules counted separately from a module; of a built-in part, if its label says that it is a rest.

    These are paths below a built-in part, without the sign of a list.
    """
    if not isinstance(line.part, Component):
        return modules_apart(line, formula)
    if not is_rest(line, formula.root):
        return []
    return [each.removesuffix(".*") for each in part_labels.modules_apart(line, formula.root)]


def _in_lists(lines: Iterable[AccountLine], formula: Formula) -> list[tuple[AccountLine, Line]]:
    """Return lines with their paths in the class; those that differ only in the kind of their layers are one."""
    alike: dict[object, list[AccountLine]] = {}
    for line in lines:
        one = line.path and line.count == 1 and not line.is_kind
        alike.setdefault(class_path(line.path, formula) if one else line.key, []).append(line)
    found: list[tuple[AccountLine, Line]] = []
    for first, *others in alike.values():
        if first.is_kind or not first.path:
            found.append((first, [Code(class_path(first.path, formula) or first.name)]))
        else:
            found.append((first, in_class([each.path for each in (first, *others)], formula)[0]))
    return found


def _kinds(line: AccountLine, formula: Formula) -> Line:
    """Return a sentence on the kinds of layers of a traced model, at the part that all layers have in common."""
    if not line.is_common:
        return []
    kinds = [each for each in formula.root.walk() if each.is_kind and each.each != 0]
    said: list[Line] = [
        [Math.of(each.count), f" {_kind_of(each, line.name)}"] for each in kinds if each.path == line.path
    ]
    first = bool(kinds) and kinds[0].path == line.path  # the explanation is the same for every list of layers
    return ["Kinds of layers: ", *listed(*said), ".", *maybe(first, " ", SAME_NUMBER)] if said else []


SAME_NUMBER = (
    "A trace tells in how many layers a weight occurs, not in which. Weights that occur in equally many layers are "
    "therefore shown together."
)


def _kind_of(line: AccountLine, name: str) -> str:
    what = line.name.removeprefix(f"{name}_")
    return f"of kind {what}" if what.isdigit() else f"with {_with(what)}"


def _layers(line: AccountLine, whole_layer: bool, first: bool) -> Line:
    """Return which layers a part belongs to: identical layers, all layers of several kinds, or one kind only.

    With ``whole_layer``, the section of a kind counts the whole layer.
    """
    if line.is_kind and line.among is not None:
        count, among = Math.of(line.count), Math.of(line.among)
        if whole_layer:
            return [count, " of the ", among, " layers, "]
        return ["Specific to " if first else "specific to ", count, " of the ", among, " layers, "]
    times, among = fraction(line.count)
    if line.parallel and among != 1:
        return ["In " if first else "in ", Math.of(times), " of the ", Math.of(among), " layers, "]
    if line.parallel:
        return ["One of " if first else "one of ", Math.of(line.count), " copies with different weights, "]
    if among != 1:  # a part whose weights layers share, or a part inside it whose weights they do not share
        stored, around = Math.of(times), Math.of(among)
        return ["Stored " if first else "stored ", stored, " times for ", around, " copies of the part around it, "]
    if line.is_common:
        return ["Common to all " if first else "common to all ", Math.of(line.count), " layers, "]
    whole = isinstance(line.part, Component) or not line.path.endswith(".*") or _is_list(line.path)
    return ["One of " if first else "one of ", Math.of(line.count), f" identical {'layers' if whole else 'copies'}, "]


def _elsewhere(line: AccountLine, formula: Formula) -> bool:
    """Return True if other lines have the same path: in a list of mixed modules, each kind is counted separately."""
    if isinstance(line.part, Component) or not line.path.endswith("*"):
        return False
    return any(other.path == line.path and other is not line for other in formula.root.parts())


def modules_apart(line: AccountLine, formula: Formula) -> list[str]:
    """Return the submodules counted separately from a module, as a trace counts a list of layers."""
    if not line.path or _elsewhere(line, formula):
        return []
    inside = {id(below) for below in line.walk()}
    paths = dict.fromkeys(
        other.path
        for other in formula.root.parts()
        if other.each != 0
        and other.path.startswith(f"{line.path}.")
        and other.key.startswith(f"{line.key}.")
        and id(other) not in inside
    )
    return [path for path in paths if not any(path.startswith(f"{other}.") for other in paths)]


def named(path: str, formula: Formula) -> Code:
    """Return the name of a row; a row for the whole target has the target's name."""
    path = class_path(path, formula)
    return Code(path if path.strip(" ") == path != "" else formula.id.rpartition(".")[0] + path)
