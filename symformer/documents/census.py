"""The census as a page: every formula, and every model that has none, with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from .formats.md import Markdown

if TYPE_CHECKING:
    from ..witness.census import Census, Surveyed

# What of a quantity is counted by torch itself as well.
COUNTED = dict.fromkeys(("flops", "train-flops"), ", and its value there is what torch's own FlopCounterMode counts")
_code, _prose = Markdown().code, Markdown().prose


def page(census: Census) -> str:
    """The whole page, in Markdown."""
    made_with = ", ".join(f"{name} {version}" for name, version in census.versions.items())
    whole = census.quantity == "params"
    verdict = f"; the bar of {census.bar} % is {'reached' if census.share >= census.bar else 'not reached'}"
    odd = [each for each in census.traced if each.numbers_left]
    refused = [each for each in census.built if not each.formula]
    seconds = sum(each.seconds for each in census.entries)
    unbuilt = [each for each in census.entries if not each.builds]
    blocks = [
        f"# Census of the {census.measure.title}",
        f"The {census.measure.title} of every model type of transformers{_heads(census)}, traced from its own code by "
        f"`symformer census` with {made_with}. Every formula is exact, row by row, at fresh random configs that played "
        f"no part in finding it{COUNTED.get(census.quantity, '')}. A formula is whole if none of the usual sizes had "
        "to stay a number: the vocabulary, the widths of the model and of its MLPs, the layers and the heads.",
        f"**{len(census.whole if whole else census.traced)} of the {len(census.built)} models that {census.does}, "
        f"{census.share:.1f} %, have {'a whole' if whole else 'an exact'} formula{verdict if census.bar else ''}.** "
        f"A trace takes {census.ratio:.1f} times as long as transformers takes to build the model once (the median), "
        f"and all of them {seconds:.0f} seconds of one core.",
        _summary(census),
    ]
    if odd:
        rows = [[_link(each), each.head, ", ".join(map(_code, each.numbers_left))] for each in odd]
        blocks += ["## A formula that is not whole", _table("Type|Head|Stays a number", rows)]
    if refused:
        rows = [[_code(each.model_type), each.head, _prose(each.why), _seconds(each)] for each in refused]
        blocks += ["## No formula", _table("Type|Head|Why|Seconds:", rows)]
    if unbuilt:
        rows = [[_code(each.model_type), each.head, _prose(each.why)] for each in unbuilt]
        blocks += [
            f"## Those that do not {census.does}",
            "From their own default config, with what they say.",
            _table("Type|Head|Why", rows),
        ]
    if any(each.lift for each in census.traced):
        blocks += _lifts(census)
    rows = [
        [_link(each), each.head, str(each.checked), str(len(each.pinned)), _seconds(each)] for each in census.traced
    ]
    blocks += [
        "## Formulas",
        "A name that is no letter is the config's own. Points are the fresh configs at which a formula was checked; "
        "pinned sizes stay numbers.",
        _table("Type|Head|Points:|Pinned:|Seconds:", rows),
        *(section(each, census.measure.letter) for each in census.traced),
    ]
    return "\n\n".join(blocks) + "\n"


def _lifts(census: Census) -> list[str]:
    """Which traces were read as operations, and what torch then counts alike."""
    rows = []
    for each in census.traced:
        observed = each.lift.get("observed", [])
        reasons: dict[str, list[str]] = {}
        for name, why in each.lift.get("refused", {}).items():
            reasons.setdefault(why, []).append(_code(name))
        refused = [f"{', '.join(names)}: {_prose(why)}" for why, names in reasons.items()]
        refused += [_prose(each.lift["why"])] if "why" in each.lift else []
        kept = f"no: {', '.join(map(_code, observed))}" if observed else "yes" if each.lifted else "no"
        if products := each.lift.get("products", []) if each.lifted else []:
            kept += f", with {', '.join(map(_code, products))}"
        rows.append([_link(each), each.head, kept, ", ".join(each.lift.get("confirmed", {})), "; ".join(refused)])
    whole = [each for each in census.traced if each.lifted]
    known = sum(not each.lift.get("products") for each in whole)
    return [
        "## Operations",
        f"A trace is lifted where every row of it was recognised as an operation: **{len(whole)} of "
        f"{len(census.traced)}**. In {known} of these it is known what every product is for; the others have products "
        "of two computed tensors, named here, which are no attention that was recognised; where tokens meet in one, "
        "what a cache holds is refused. Confirmed are the quantities for which the rules of these operations give what "
        "torch counts, row by row, at 3 fresh random configs; what is refused says why.",
        _table("Type|Head|Lifted|Confirmed|Refused", rows),
    ]


def section(entry: Surveyed, letter: str = "N") -> str:
    """One formula, what its letters stand for, and what stayed a number."""
    # a sign stays with the term after it
    lines = wrap(entry.text.replace("+ ", "+\0").replace("- ", "-\0"), 100, break_long_words=False)
    formula = "\n    ".join(lines).replace("\0", " ")
    letters = [f"{_prose(name)} is {_code(place)}" for name, place in entry.symbols.items() if name != place]
    blocks = [f"### {_title(entry)}", f"```text\n{letter} = {formula}\n```"]
    if letters:
        blocks.append(", ".join(letters) + ".")
    notes = [f"{_code(each['name'])} stays {each['value']:,}: {_prose(each['why'])}" for each in entry.pinned]
    notes += [f"{_code(name)} is always {_code(other)}: the code takes no other" for name, other in entry.ties.items()]
    notes += [f"it holds where {_prose(each)}" for each in entry.conditions]
    notes += [f"{_code(name)} stays as it is: a list, or deep in the config" for name in entry.untried]
    if notes:
        blocks.append("\n".join(f"- {note}" for note in notes))
    return "\n\n".join(blocks)


def _heads(census: Census) -> str:
    """Which classes of a type are meant: one that has none of them is not among the rows."""
    heads = list(dict.fromkeys(each.head for each in census.entries))
    return "" if heads == ["base"] else f" that has a class of the kind {' or '.join(heads)}"


def _summary(census: Census) -> str:
    heads = list(dict.fromkeys(each.head for each in census.entries))
    columns = [[each for each in census.entries if each.head == head] for head in heads] + [list(census.entries)]
    rows = [
        ["Types", *(str(len(column)) for column in columns)],
        [
            f"that {census.does} from their default config",
            *(str(sum(each.builds for each in column)) for column in columns),
        ],
        ["with an exact formula", *(str(sum(bool(each.formula) for each in column)) for column in columns)],
        ["with a whole formula", *(str(sum(each.whole for each in column)) for column in columns)],
    ]
    if any(each.lift for each in census.traced):
        rows.append(["lifted into operations", *(str(sum(each.lifted for each in column)) for column in columns)])
    return _table("|".join(["", *(f"{head}:" for head in heads), "all:"]), rows)


def _title(entry: Surveyed) -> str:
    return f"{entry.model_type}, {entry.head}"


def _link(entry: Surveyed) -> str:
    anchor = _title(entry).lower().replace(",", "").replace(" ", "-")
    return f"[{_prose(entry.model_type)}](#{anchor})"


def _seconds(entry: Surveyed) -> str:
    return f"{entry.seconds:.1f}"


def _table(head: str, rows: Sequence[Sequence[str]]) -> str:
    """A table; a column whose name ends in a colon is one of numbers."""
    names = head.split("|")
    lines = [[name.rstrip(":") for name in names], ["---:" if name.endswith(":") else "---" for name in names], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
