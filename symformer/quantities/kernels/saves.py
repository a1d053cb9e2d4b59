"""Tensors that one operation saves for the backward pass, and the rules that several implementations share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sympy import Expr, Integer, Max

from ...formulas.account import Term
from ...language.symbols import W
from ...ledger.facts import ONE, Entry, Tensor
from ..quantity import Conventions

LONG = Integer(8)  # bytes of an index
MINUS = Integer(-1)  # the sign of the bytes that a view does not save
SINGLE = Integer(4)  # bytes of a float32
SIZES: dict[str, Expr] = {"fp32": SINGLE, "bf16": Integer(2), "fp16": Integer(2), "symbolic": W}  # per element


@dataclass(frozen=True)
class Saves:
    """The tensors one operation saves: some of its inputs, its output, and intermediate tensors.

    With frozen weights, the first layers may need no gradient, and an operation saves nothing there. ``partly`` has
    tensors that it saves only for the gradient of another one, with the share of the layers that need that gradient.
    """

    reads: tuple[Tensor, ...] = ()
    output: bool = False
    makes: tuple[Term, ...] = ()
    given: tuple[Tensor, ...] = ()  # saved inputs that may be inputs of the model
    partly: tuple[tuple[Tensor | Term, Expr], ...] = ()


Saver = Callable[[Entry, Conventions], Saves]


def single(conventions: Conventions) -> bool:
    """Return True if the model computes in float32; with another dtype, a cast to float32 makes a copy."""
    return conventions["dtype"] == "fp32"


def none(entry: Entry, conventions: Conventions) -> Saves:
    return Saves()


def lookup(entry: Entry, conventions: Conventions) -> Saves:
    if entry.held:
        return Saves()
    return Saves(makes=(Term(f"{entry.path} (indices)", (*entry.inputs[0].shape, LONG)),))


def linear(entry: Entry, conventions: Conventions) -> Saves:
    """Return the input if the matrix is trained, and the tensor that a soft cap saves.

    A product in single precision casts both operands.
    """
    if entry.function == "float32" and not single(conventions):
        (x,) = entry.inputs
        matrices = [made(entry, "matrix in float32", weight.shape, SINGLE) for weight in entry.weights[:1]]
        inputs = [] if entry.frozen else [made(entry, "input in float32", x.shape, SINGLE)]
        return Saves(makes=(*inputs, *matrices))
    return Saves(reads=() if entry.frozen else entry.inputs, makes=capped(entry, conventions))


def capped(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the tensor that a soft cap c·tanh(x/c) saves, if there is one: the output of tanh."""
    if not entry.capped:
        return ()
    return (made(entry, "tanh", entry.output.shape, SIZES[conventions["dtype"]]),)


def softmax(entry: Entry, conventions: Conventions) -> Saves:
    return Saves(output=True)


def dropout(entry: Entry, conventions: Conventions) -> Saves:
    """Return the dropout mask: one number of the model's dtype per element on the CPU, one byte in Megatron."""
    if conventions["dropout"] == "off":
        return Saves()
    size = ONE if conventions["implementation"] == "megatron" else SIZES[conventions["dtype"]]
    return Saves(makes=(Term(f"{entry.path} (noise)", (*entry.output.shape, size)),))


def made(entry: Entry, what: str, shape: tuple[Expr, ...], size: Expr) -> Term:
    return Term(f"{entry.path} ({what})", (*shape, size))


def is_one(number: Expr) -> Expr:
    """Return 1 if a number is 1, and 0 if it is larger."""
    return Max(0, 2 - number)
