"""The page of published numbers: each as printed, with the quantity it counts and the arithmetic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from ..algebra.explain import Explanation
from ..algebra.number_claims import PublishedNumber, number_claims
from ..architectures import names, presets
from ..language.notation.latex import latex
from .pages import anchor, plain, table

# The sections in order: the verdict, its heading, and its introduction.
SECTIONS: Mapping[str, tuple[str, str]] = {
    "convention": (
        "Different convention",
        "The number is the model's count under different conventions: the smallest set of changes that explains it.",
    ),
    "unexplained": ("Unexplained", "The number matches no known count; the nearest count is named."),
    "rounded": (
        "Full count, rounded",
        "The number is symformer's count, rounded or truncated to the printed digits.",
    ),
    "exact": ("Full count, exact", "The number is exactly symformer's count."),
    "": ("Not compared", "The number has no target here, for the reason given."),
}


def page() -> str:
    """Return the page in Markdown."""
    entries = sorted(number_claims(), key=lambda entry: (entry.whose.lower(), entry.id))
    by_verdict: dict[str, list[PublishedNumber]] = {verdict: [] for verdict in SECTIONS}
    for entry in entries:
        by_verdict[entry.verdict].append(entry)
    amiss = [entry for entry in entries if entry.correction]
    counts = Counter({heading: len(by_verdict[verdict]) for verdict, (heading, _) in SECTIONS.items()})
    lines = [
        "# Published numbers",
        "",
        f"{len(entries)} numbers from papers, model cards and tools, each identified by `symformer explain`. Letters "
        "have the same meaning as in the [derivation](README.md) of each target.",
        "",
        *table(("Verdict", "Numbers"), [(f"[{each}](#{anchor(each)})", str(count)) for each, count in counts.items()]),
        "",
        f"{len(amiss)} of them need a correction; see [corrections](corrections.md).",
    ]
    for verdict, (heading, said) in SECTIONS.items():
        lines += ["", f"## {heading}", "", said, "", *_section(verdict, by_verdict[verdict])]
    return "\n".join([*lines, ""])


def _section(verdict: str, entries: Iterable[PublishedNumber]) -> list[str]:
    first = ("Source", "Printed", "Described as")
    cells = [((plain(each.whose), plain(each.printed), each.counts), each) for each in entries]
    if not verdict:
        return table((*first, "Reason"), [(*own, plain(each.without)) for own, each in cells])
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
    """Return the target, linked to its derivation, with the sizes and options that differ from its defaults."""
    found = entry.explanation
    if found is None:
        return ""
    own = presets().get(entry.target, {}).get("architecture", entry.target)
    name = f"[{entry.target}]({own}.md)" if own in names() else f"`{entry.target}`"
    return name + plain(found.target_text.removeprefix(entry.target))


def _arithmetic(entry: PublishedNumber) -> str:
    found = entry.explanation
    return plain(_said(found)) if found is not None else ""


def _said(found: Explanation) -> str:
    """Return the arithmetic without the number and the target, which have their own columns."""
    if found.verdict == "exact":
        return "exact"
    counted = found.match
    if found.verdict == "rounded":
        how = "rounded" if found.match_kind != "cut off" else "truncated, not rounded"
        return f"{found.format_value(found.value)}, {how}"
    if found.verdict == "convention":
        return f"{' and '.join(counted.otherwise)}: {counted.steps()}"
    nearest = f" with {' and '.join(counted.otherwise)}" if counted.otherwise else ""
    return f"symformer counts {found.format_value(found.own_count.value)}" + (
        f"; the nearest is {found.format_value(counted.value)}{nearest}" if nearest else ""
    )
