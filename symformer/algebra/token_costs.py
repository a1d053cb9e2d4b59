"""Costs per token: the FLOPs of a pass over B·S tokens, and the bytes of a cache of B·C tokens."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sympy import Expr, Rational, expand

from ..formulas.formula import Formula
from ..language.errors import OptionError, RuleError, SizeError, listed
from ..language.sizes import Numbers, substitute
from ..language.symbols import B, B_vis, C, S, Z, print_order
from ..ledger.facts import ONE

# The number of tokens that each cost is for. A decoding step has one token in each sequence.
TOKENS: Mapping[str, Expr] = {
    **dict.fromkeys(("flops", "macs", "prefill-flops", "train-flops", "activations"), B * S),
    "kv-cache": B * C,
    "decode-flops": B,
}
DIVIDED = "per=token"  # how an id in a paper states that its value is divided
STORED = ("params", "active-params", "trainable-params", "weight-memory")  # no costs of tokens: never divided


def tokens_of(quantity: str) -> Expr:
    """Return the number of tokens that a quantity is divided by, or 1 for stored weights.

    Raises OptionError for a quantity that has no cost per token.

    >>> tokens_of("flops"), tokens_of("kv-cache"), tokens_of("params")
    (B*S, B*C, 1)
    """
    if quantity in STORED:
        return ONE
    if quantity not in TOKENS:
        raise OptionError(
            f"{quantity} has no cost per token; choose from {listed(TOKENS)}, or from {listed(STORED)}, which are not "
            "divided"
        )
    return TOKENS[quantity]


def divisor_of(quantity: str) -> Expr:
    """Return the number of tokens that a quantity is divided by, or 1 if it has no cost per token.

    >>> divisor_of("flops"), divisor_of("train-memory")
    (B*S, 1)
    """
    return TOKENS.get(quantity, ONE)


def cost_per_token(formula: Formula) -> Expr:
    """Return a formula divided by its number of tokens; stored weights are not divided.

    Raises
    ------
    OptionError
        If the quantity has no cost per token.
    RuleError
        If the model takes images, or no tokens, so that the number of tokens does not determine its cost.

    Examples
    --------
    >>> import symformer as sf
    >>> cost_per_token(sf.model("gpt2").formula("kv-cache"))
    4*E*L

    """
    tokens = tokens_of(formula.measure.name)
    if tokens == 1:
        return formula.expanded
    if formula.expanded.free_symbols & {B_vis, Z}:
        raise RuleError("a model that takes images has no cost per token")
    if S in tokens.free_symbols and S not in formula.dependencies:
        raise RuleError("a model that takes no tokens has no cost per token")
    return expand(formula.expanded / tokens)


def value_per_token(formula: Formula, numbers: Numbers) -> int | Fraction:
    """Return the exact value of a formula divided by its number of tokens.

    Raises SizeError if the sizes violate a condition of the formula, and the errors of ``cost_per_token``.

    >>> import symformer as sf
    >>> gpt2 = sf.model("gpt2")
    >>> value_per_token(gpt2.formula("kv-cache"), gpt2.known)
    36864
    """
    amount = cost_per_token(formula)
    for condition in formula.constraints:
        condition.check(numbers)
    found = substitute(amount, numbers)
    if missing := sorted(found.free_symbols, key=print_order):
        raise SizeError(f"no value for {', '.join(map(str, missing))}")
    if not isinstance(found, Rational):
        raise SizeError(f"{formula.id} divides by zero at these sizes")
    return int(found) if found.q == 1 else Fraction(int(found.p), int(found.q))
