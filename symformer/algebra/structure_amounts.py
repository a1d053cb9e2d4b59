"""The amount of a quantity in each part of a model, with the parts that a comparison of structures names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sympy import Expr, Integer, expand

from ..components.base import Component
from ..components.distance_embedding import DistanceEmbedding
from ..components.latent_attention import LatentAttention
from ..components.linear import Linear
from ..components.patch_embedding import PatchEmbedding
from ..components.position_embedding import PositionEmbedding
from ..components.segment_embedding import SegmentEmbedding
from ..components.short_convolution import ShortConvolution
from ..components.token_embedding import TokenEmbedding
from ..formulas.account import Line
from ..formulas.formula import Formula
from ..ledger.facts import ONE, Entry, OperationKind
from .structure_profile import OTHER, in_towers, stack_name

BEFORE, LAYERS, AFTER = "before the layers", "in the layers", "after the layers"
Place = tuple[str, str]  # a stack and a part of it


def part_amounts(formula: Formula, stacks: Sequence[str]) -> Mapping[Place, Expr]:
    """Return the amount of each part of each stack. The amounts sum to the formula.

    Parameters
    ----------
    formula
        A formula of a whole model. Its relations, except those for totals of layers, are substituted.
    stacks
        The names of the stacks of the model.

    """
    found: dict[Place, Expr] = {}
    reached = dict.fromkeys(stacks, BEFORE)

    def walk(line: Line, count: Expr, parts: tuple[Component, ...]) -> None:
        count = count * line.count
        entry = line.entry
        if entry is not None:
            stack = stack_name(entry.path, entry.kind is OperationKind.CONVOLUTION and not parts, stacks)
            inside = any(part.role == "block" for part in parts) or [part.role for part in parts][:1] == ["MLP"]
            outside = in_towers(stacks) and not any(part.role == "tower" for part in parts)
            reached[stack] = LAYERS if inside else AFTER if outside or reached[stack] != BEFORE else BEFORE
            for term in line.terms:
                part = part_of(parts, entry, term.label, reached[stack])
                amount = (count * term.expr).xreplace(formula.display_relations)
                found[stack, part] = found.get((stack, part), Integer(0)) + amount
        for below in line.lines:
            own = (below.part,) if isinstance(below.part, Component) else ()
            walk(below, count, (*parts, *own))

    walk(formula.root, ONE, ())
    return {place: amount for place, each in found.items() if (amount := expand(each)) != 0}


def part_of(parts: Sequence[Component], entry: Entry, label: str, where: str) -> str:
    """Return the part of a model that a term of an operation belongs to.

    Parameters
    ----------
    parts
        The components that contain the operation, the outermost first.
    entry
        The operation.
    label
        The label of the term: the name of a weight or of a product.
    where
        Whether the operation is before, in or after the layers.

    """
    names = [part.name for part in parts]
    roles = [part.role for part in parts]
    bias = label.endswith("bias") and entry.kind is not OperationKind.NORM
    if entry.adapter:
        return "adapters"
    if where == AFTER:
        return "final norm" if roles[:1] == ["norms"] else "head"
    if "cross-attention" in names:
        return "cross-attention"
    if where == BEFORE:
        return _embedding(parts, entry)
    if any(isinstance(part, DistanceEmbedding) for part in parts):
        return "positions"
    if "attention" in roles:
        latent = any(isinstance(part, LatentAttention) for part in parts)
        if roles[-1] == "norms" and not latent:
            return "query and key norms"
        if entry.kind is OperationKind.PARAMETER and not bias and getattr(parts[-1], "sinks", ""):
            return "attention sinks"
        return "attention biases" if bias else "attention"
    if "state-space mixer" in roles or any(isinstance(part, ShortConvolution) for part in parts):
        return "attention"
    if "MLP" in roles:
        return "MLP biases" if bias else "MLP"
    if roles[-1] == "norms":
        return "layer norms"
    if "layer-scale" in names:
        return "residual branches"
    return "conditioning" if "adaptive-block" in names else OTHER


def _embedding(parts: Sequence[Component], entry: Entry) -> str:
    for part in parts:
        match part:
            case PositionEmbedding() | DistanceEmbedding():
                return "positions"
            case SegmentEmbedding():
                return "segment embedding"
            case PatchEmbedding():
                return "image embedding"
            case TokenEmbedding() | Linear():
                return "token embedding"
            case Component(role="norms"):
                return "positions" if entry.path.startswith("encoder.") else "embedding norm"  # of distances: DeBERTa
            case Component(name="conditioning"):
                return "conditioning"
    if entry.kind is OperationKind.CONVOLUTION:  # whose only model without patches is Whisper
        return "audio embedding"
    if entry.kind is OperationKind.PARAMETER and entry.weights:
        path = entry.weights[0].path
        return "positions" if "pos" in path or "rel" in path else "image embedding"
    return OTHER
