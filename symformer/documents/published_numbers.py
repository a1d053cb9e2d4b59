"""The page of published numbers: each as it is printed, what it counts, and the arithmetic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from ..algebra.explain import Explanation
from ..algebra.numbers import PublishedNumber, numbers
from ..architectures import names, presets
from ..language.notation.latex import latex
from .pages import anchor, plain, table

# The sections in their order: a verdict, its heading, and what stands under it.
SECTIONS: Mapping[str, tuple[str, str]] = {
    "convention": (
        "Counted otherwise",
        "The number is that of the model with something counted otherwise than here: the fewest things that give it.",
    ),
    "unexplained": ("Unexplained", "Nothing that is known here gives the number; the nearest count is named."),
    "rounded": (
        "Everything, rounded",
        "The number is the count here, rounded or cut off to the digits that are printed.",
    ),
    "exact": ("Everything, exactly", "The number is the count here, to the unit."),
    "": ("Not asked", "No target here answers for the number, for the reason given."),
}


def page() -> str:
    """The page in Markdown."""
    entries = sorted(numbers(), key=lambda entry: (entry.whose.lower(), entry.id))
    by_verdict: dict[str, list[PublishedNumber]] = {verdict: [] for verdict in SECTIONS}
    for entry in entries:
        by_verdict[entry.verdict].append(entry)
    amiss = [entry for entry in entries if entry.correction]
    counts = Counter({heading: len(by_verdict[verdict]) for verdict, (heading, _) in SECTIONS.items()})
    lines = [
        "# Published numbers",
        "",
        f"{len(entries)} numbers that papers, model cards and tools print, each asked of `symformer explain`. A letter "
        "stands for what it does in the [derivation](README.md) of its target.",
        "",
        *table(("Verdict", "Numbers"), [(f"[{each}](#{anchor(each)})", str(count)) for each, count in counts.items()]),
        "",
        f"Of {len(amiss)} something is amiss: [corrections](corrections.md).",
    ]
    for verdict, (heading, said) in SECTIONS.items():
        lines += ["", f"## {heading}", "", said, "", *_section(verdict, by_verdict[verdict])]
    return "\n".join([*lines, ""])


def _section(verdict: str, entries: Iterable[PublishedNumber]) -> list[str]:
    first = ("Whose", "Printed", "Said to count")
    cells = [((plain(each.whose), plain(each.printed), each.counts), each) for each in entries]
    if not verdict:
        return table((*first, "Because"), [(*own, plain(each.without)) for own, each in cells])
    if verdict == "exact":
        return table((*first, "Ours"), [(*own, _target(each)) for own, each in cells])
    if verdict != "convention":
        return table(
            (*first, "Ours", "Arithmetic", "Note"),
            [(*own, _target(each), _arithmetic(each), plain(each.note)) for own, each in cells],
        )
    rows = []
    for own, each in cells:
        found = each.explanation
        change = "" if found is None or found.change is None else f"$`{latex(found.change)}`$"
        rows.append((*own, _target(each), _arithmetic(each), change, plain(each.note)))
    return table((*first, "Ours", "Arithmetic", "Difference", "Note"), rows)


def _target(entry: PublishedNumber) -> str:
    """The target, linked to its derivation, with the sizes and options that are not those of its name."""
    found = entry.explanation
    if found is None:
        return ""
    own = presets().get(entry.target, {}).get("architecture", entry.target)
    name = f"[{entry.target}]({own}.md)" if own in names() else f"`{entry.target}`"
    return name + plain(found.whose.removeprefix(entry.target))


def _arithmetic(entry: PublishedNumber) -> str:
    found = entry.explanation
    return plain(_said(found)) if found is not None else ""


def _said(found: Explanation) -> str:
    """The arithmetic without the number and the target, which stand in columns of their own."""
    if found.verdict == "exact":
        return "exact"
    counted = found.reading
    if found.verdict == "rounded":
        how = "rounded" if found.how != "cut off" else "cut off, not rounded"
        return f"{found.spell(found.value)}, {how}"
    if found.verdict == "convention":
        return f"{' and '.join(counted.otherwise)}: {counted.steps()}"
    nearest = f" with {' and '.join(counted.otherwise)}" if counted.otherwise else ""
    return f"{found.spell(found.plain.value)} are counted here" + (
        f"; nearest is {found.spell(counted.value)}{nearest}" if nearest else ""
    )
