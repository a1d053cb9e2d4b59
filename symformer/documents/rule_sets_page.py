"""The page of rule sets: how code bases and papers count FLOPs, compared with our count of the same models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Context, Decimal
from fractions import Fraction

from sympy import Expr, Rational, expand

from ..architectures import architecture
from ..formulas.formula import Formula
from ..language.errors import SymformerError
from ..language.notation.latex import latex
from ..language.symbols import S, letter, print_order
from ..models.model import Model
from ..papers import papers, split_at_keys
from ..quantities import quantity as find_quantity
from ..quantities.quantity import COUNTED
from ..quantities.rule_sets import IMAGES, PROMPT, TRAINING
from ..quantities.rule_sets.rule_set import RuleSet
from .pages import plain, table

# The presets shown for each quantity, with a run of one sequence or one image.
ASKED: Mapping[str, tuple[Mapping[str, RuleSet], Mapping[str, dict[str, int]]]] = {
    "train-flops": (
        TRAINING,
        {
            "gpt2": {"B": 1, "S": 1024},
            "llama-2-7b": {"B": 1, "S": 4096},
            "mixtral-8x7b": {"B": 1, "S": 4096},
            "qwen3-30b-a3b": {"B": 1, "S": 4096},
            "gpt-oss-20b": {"B": 1, "S": 4096},
        },
    ),
    "prefill-flops": (
        PROMPT,
        {
            "gpt2": {"B": 1, "S": 1024},
            "llama-2-7b": {"B": 1, "S": 4096},
            "mixtral-8x7b": {"B": 1, "S": 4096},
            "gpt-oss-20b": {"B": 1, "S": 4096},
        },
    ),
    "flops": (IMAGES, {"vit-base-patch16-224": {"B": 1}}),
}
DIGITS = Context(prec=3)


def page() -> str:
    """Return the page in Markdown."""
    shown: set[Expr] = set()
    lines = [
        "# FLOPs as others count them",
        "",
        "Published FLOPs often follow the rule of a code base or a paper. This page lists these rules by name, each "
        "with its source, its definition and its difference from our count (ours - theirs) in closed form. `--option "
        "counted=NAME` selects a rule. `symformer show TARGET --quantity train-flops --conventions` compares all "
        "rules for one model, and `symformer compare TARGET TARGET --quantity train-flops --left counted=here --right "
        "counted=NAME` shows the difference row by row.",
    ]
    for quantity, (sets, runs) in ASKED.items():
        question = find_quantity(quantity)
        models = {name: architecture(name).set(dict(run)) for name, run in runs.items()}
        lines += ["", f"## {question.measure.title[0].upper()}{question.measure.title[1:]}", ""]
        usual = ", ".join(f"`{name}={value}`" for name, value in question.choose({}).items())
        ours, run = (
            ("half our count", "one image") if quantity == "flops" else ("our count", "one sequence of S tokens")
        )
        lines.append(
            f"How far each rule is above (+) or below (-) {ours}, in percent, for {run}; our count uses {usual}:"
        )
        lines += ["", *_overview(quantity, sets, models)]
        for rules in sets.values():
            lines += ["", *_section(quantity, rules, models, shown)]
    letters = {size for expr in shown for size in expr.free_symbols}
    rows = [(f"$`{latex(size)}`$", letter(size).meaning) for size in sorted(letters, key=print_order)]
    return "\n".join([*lines, "", "## Symbols", "", *table(("Symbol", "Meaning"), rows), ""])


def _overview(quantity: str, sets: Mapping[str, RuleSet], models: Mapping[str, Model]) -> list[str]:
    head = ["Rule", *(f"{name}, S = {m.known[S]:,}" if S in m.known else name for name, m in models.items())]
    rows = []
    for name in sets:
        cells = []
        for model in models.values():
            ours, theirs = _both(quantity, name, model)
            cells.append(_percent(ours, theirs) if isinstance(theirs, Formula) else "no rule")
        rows.append([f"`{name}`", *cells])
    return table(head, rows)


def _section(quantity: str, rules: RuleSet, models: Mapping[str, Model], shown: set[Expr]) -> Iterator[str]:
    yield f"### {rules.who}"
    yield ""
    yield f"`counted={rules.name}`: [{plain(rules.where)}]({rules.link}). {_cited(rules.statement)}"
    yield ""
    rows = []
    for name, model in models.items():
        ours, theirs = _both(quantity, rules.name, model)
        if not isinstance(theirs, Formula):
            rows.append((f"`{name}`", plain(theirs), "", ""))
            continue
        difference = ours.collect_totals(expand(_scale(theirs) * ours.display_expr - theirs.display_expr))
        shown |= {theirs.display_expr, difference}
        rows.append((f"`{name}`", f"$`{theirs.latex()}`$", f"$`{latex(difference)}`$", f"{theirs.value():,}"))
    less = "Ours / 2 - theirs" if rules.measure else "Ours - theirs"
    yield from table(("Model", "Formula", less, next(iter(_units(rules)))), rows)


def _units(rules: RuleSet) -> Iterator[str]:
    yield rules.measure.unit if rules.measure else "FLOPs"


def _both(quantity: str, name: str, model: Model) -> tuple[Formula, Formula | str]:
    """Return our formula and theirs, or the reason why there is none."""
    ours = model.formula(quantity)
    try:
        return ours, model.formula(quantity, **{COUNTED: name})
    except SymformerError as error:
        return ours, str(error).removeprefix(f"counted={name}: ")


def _scale(theirs: Formula) -> Expr:
    """Return the factor from our unit to theirs: a multiply-add is two FLOPs."""
    return Rational(1, 2) if theirs.measure.unit == "MACs" else Rational(1)


def _percent(ours: Formula, theirs: Formula) -> str:
    whole = Fraction(ours.value()) * Fraction(*_scale(theirs).as_numer_denom())
    more = (Fraction(theirs.value()) / whole - 1) * 100
    if more == 0:
        return "equal"
    near = DIGITS.divide(Decimal(more.numerator), Decimal(more.denominator))
    return f"{near.normalize():+f}"


def _cited(words: str) -> str:
    """Return a statement with its papers as links."""
    found = ""
    for place, part in enumerate(split_at_keys(words)):
        paper = papers()[part] if place % 2 else None
        found += f"([arXiv:{paper.arxiv}](https://arxiv.org/abs/{paper.arxiv}))" if paper else part.replace("``", "`")
    return found
