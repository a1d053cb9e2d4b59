"""Plot of shares: the share of each role by model, and the share of the embeddings against the hidden size."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from sympy import Expr

from ...algebra.role_totals import RECURRENT, ROLES, role_totals
from ...architectures import composed_model, presets_of
from ...formulas.formula import Formula
from ...language.errors import OptionError
from ...language.sizes import evaluate
from ...language.symbols import E
from ...models.model import Model
from ...output.base_plot import MARGIN, write_below
from ...output.style import HATCHES, INKS, MARKS, grid, literal, plot_bytes
from .rank_caption import of_one_rank

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Counted = tuple[Model, Formula]
MOST_BARS = 24
# The colour and the hatch of each role, the same in every plot.
STYLES = {
    "embeddings": (INKS[0], HATCHES[0]),
    "attention": (INKS[1], HATCHES[1]),
    "state-space mixer": (INKS[5], HATCHES[6]),
    "linear attention": (INKS[6], HATCHES[5]),
    "recurrent block": (INKS[5], HATCHES[5]),
    "MLP": (INKS[2], HATCHES[2]),
    "norms": (INKS[3], HATCHES[3]),
    "head": (INKS[4], HATCHES[4]),
    "other": ("#999999", HATCHES[5]),
}


def family(model: Model) -> list[str]:
    """Return all presets of an architecture, if the target is just the architecture's name."""
    return presets_of(model.id) if model.target == model.id else []


def shares_of(model: Model, formula: Formula) -> dict[str, Fraction]:
    """Return the exact share of each role. Raises OptionError for a ratio and for a model without roles."""
    if not formula.additive:
        raise OptionError(f"{formula.measure.name} is a {formula.form} and has no shares")
    if model.provenance.from_torch:
        raise OptionError(f"{model.target} is traced, so the roles of its parts are not known")
    whole = formula.value()
    found: dict[str, Expr] = role_totals(formula)
    values = {role: evaluate(found[role], model.known, formula.id) for role in ROLES if role in found}
    return {role: Fraction(value, whole) for role, value in values.items() if value}


def shares(models: Sequence[Counted], extension: str) -> bytes:
    """Return the plot as the bytes of a file. Raises OptionError and SizeError."""
    if len(models) > MOST_BARS:
        raise OptionError(f"{len(models)} models are given; the plot has room for {MOST_BARS} bars")
    rows = [(model.name, shares_of(model, formula)) for model, formula in models]
    widths = [
        (model.known[E], found.get("embeddings", Fraction(0)))
        for (model, _), (_, found) in zip(models, rows, strict=True)
        if E in model.known
    ]
    roles = [role for role in ROLES if any(role in found for _, found in rows)]
    several = len({width for width, _ in widths}) > 1
    title = models[0][1].measure.title

    shared = of_one_rank(models)

    def draw(figure: Figure) -> None:
        high = 0.16 * len(rows)
        axes, *more = figure.subplots(
            2 if several else 1, 1, squeeze=False, height_ratios=[max(high, 0.6), 1.1] if several else None
        )[:, 0]
        left = [Fraction(0)] * len(rows)
        for role in roles:
            ink, hatch = STYLES[role]
            parts = [found.get(role, Fraction(0)) for _, found in rows]
            axes.barh(
                range(len(rows)),
                [float(100 * each) for each in parts],
                left=[float(100 * each) for each in left],
                height=0.72,
                color=ink,
                hatch=hatch,
                edgecolor="white",
                label=role,
                linewidth=0.4,
            )
            left = [a + b for a, b in zip(left, parts, strict=True)]
        axes.set_yticks(range(len(rows)), [literal(name) for name, _ in rows])
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.set_xlabel(f"share of the {title} (%)")
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(
            *axes.get_legend_handles_labels(),
            loc="outside upper center",
            ncols=min(4 if {*RECURRENT} & {*roles} else 5, len(roles)),
            handlelength=1.4,
            columnspacing=1.0,
        )
        if several:
            below = more[0]
            below.scatter(
                [width for width, _ in widths],
                [float(100 * each) for _, each in widths],
                marker=MARKS[0],
                s=12,
                color=INKS[0],
                zorder=3,
            )
            below.set_xscale("log", base=2)
            below.set_ylim(bottom=0)
            below.set_xlabel("hidden size $E$")
            below.set_ylabel("embeddings (%)")
            grid(below)
        write_below(figure, shared)

    return plot_bytes(draw, extension, 0.95 + 0.16 * len(rows) + (1.3 if several else 0) + MARGIN * len(shared))


def models_of(models: Sequence[Counted], quantity: str, conventions: dict[str, str]) -> list[Counted]:
    """Return the requested models, or all presets if the only target is just an architecture's name."""
    if len(models) > 1:
        return list(models)
    found = [composed_model(name) for name in family(models[0][0])]
    return [(model, model.formula(quantity, **conventions)) for model in found] or list(models)
