"""What one operation keeps for the backward pass, and the rules that several implementations share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sympy import Expr, Integer

from ...formulas.account import Term
from ...language.symbols import W
from ...ledger.facts import ONE, Entry, Tensor
from ..quantity import Conventions

LONG = Integer(8)  # bytes of an index
SINGLE = Integer(4)  # bytes of a number in single precision
SIZES: dict[str, Expr] = {"fp32": SINGLE, "bf16": Integer(2), "fp16": Integer(2), "symbolic": W}  # of an element


@dataclass(frozen=True)
class Saves:
    """What one operation keeps: tensors it reads, its own output, and what it makes on the way."""

    reads: tuple[Tensor, ...] = ()
    output: bool = False
    makes: tuple[Term, ...] = ()
    given: tuple[Tensor, ...] = ()  # and of what it reads, what may be the model's own input


Saver = Callable[[Entry, Conventions], Saves]


def single(conventions: Conventions) -> bool:
    """Whether the model computes in single precision; what is cast to it from another one is a copy of its own."""
    return conventions["dtype"] == "fp32"


def none(entry: Entry, conventions: Conventions) -> Saves:
    return Saves()


def lookup(entry: Entry, conventions: Conventions) -> Saves:
    if entry.held:
        return Saves()
    return Saves(makes=(Term(f"{entry.path} (indices)", (*entry.inputs[0].shape, LONG)),))


def linear(entry: Entry, conventions: Conventions) -> Saves:
    return Saves(reads=entry.inputs)


def softmax(entry: Entry, conventions: Conventions) -> Saves:
    return Saves(output=True)


def dropout(entry: Entry, conventions: Conventions) -> Saves:
    """The noise, one for each element: a number on the CPU, a byte in Megatron."""
    if conventions["dropout"] == "off":
        return Saves()
    size = ONE if conventions["implementation"] == "megatron" else SIZES[conventions["dtype"]]
    return Saves(makes=(Term(f"{entry.path} (noise)", (*entry.output.shape, size)),))


def made(entry: Entry, what: str, shape: tuple[Expr, ...], size: Expr) -> Term:
    return Term(f"{entry.path} ({what})", (*shape, size))
