"""The amount of a quantity in each part of a model, with the parts that a comparison of structures names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sympy import Expr, Integer, expand

from ..components.base import Component
from ..components.convolutional_positions import ConvolutionalPositions
from ..components.distance_embedding import DistanceEmbedding
from ..components.latent_attention import LatentAttention
from ..components.linear import Linear
from ..components.patch_embedding import PatchEmbedding
from ..components.position_embedding import PositionEmbedding
from ..components.segment_embedding import SegmentEmbedding
from ..components.short_convolution import ShortConvolution
from ..components.token_embedding import TokenEmbedding
from ..components.wave_encoder import WaveEncoder
from ..formulas.account import Line
from ..formulas.formula import Formula
from ..ledger.facts import CARRYING, ONE, Entry, OperationKind, Scope
from .role_totals import RECURRENT
from .structure_profile import FRAMES, MASKED_FRAME, ONLY, OTHER, PROJECTORS, VIDEO, in_towers, stack_name

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
            stack, where = _where(entry, parts, stacks, reached)
            for term in line.terms:
                part = part_of(parts, entry, term.label, where, stack == ONLY)
                amount = (count * term.expr).xreplace(formula.display_relations)
                found[stack, part] = found.get((stack, part), Integer(0)) + amount
        for below in line.lines:
            own = (below.part,) if isinstance(below.part, Component) else ()
            walk(below, count, (*parts, *own))

    walk(formula.root, ONE, ())
    return {place: amount for place, each in found.items() if (amount := expand(each)) != 0}


# Operations without weights whose presence describes a part.
_SILENT = (OperationKind.MULTIPLY, *CARRYING, OperationKind.MATCH, OperationKind.ROUTE)


def silent_operations(component: Component, stacks: Sequence[str]) -> Mapping[Place, set[str]]:
    """Return the operations without weights in each part of each stack, which a description may have missed."""
    found: dict[Place, set[str]] = {}
    reached = dict.fromkeys(stacks, BEFORE)

    def walk(scope: Scope, parts: tuple[Component, ...]) -> None:
        for item in scope.items:
            if isinstance(item, Scope):
                walk(item, (*parts, item.part) if isinstance(item.part, Component) else parts)
                continue
            stack, where = _where(item, parts, stacks, reached)
            if item.kind in _SILENT:
                part = part_of(parts, item, "", where, stack == ONLY)
                found.setdefault((stack, part), set()).add(item.kind.value)

    walk(component.ledger.root, ())
    return found


def _where(entry: Entry, parts: Sequence[Component], stacks: Sequence[str], reached: dict[str, str]) -> tuple[str, str]:
    """Return the stack of an operation, and whether it is before, in or after its layers."""
    stack = stack_name(entry.path, entry.kind is OperationKind.CONVOLUTION and not parts, stacks)
    inside = any(part.role == "block" for part in parts) or [part.role for part in parts][:1] == ["MLP"]
    if in_towers(stacks) and not any(part.role == "tower" for part in parts):
        return stack, AFTER
    reached[stack] = LAYERS if inside else AFTER if reached[stack] != BEFORE else BEFORE
    return stack, reached[stack]


def part_of(parts: Sequence[Component], entry: Entry, label: str, where: str, alone: bool) -> str:
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
    alone
        Whether the model has only one stack of layers.

    """
    names = [part.name for part in parts]
    roles = [part.role for part in parts if part.role != "tower"]
    bias = label.endswith("bias") and not label.endswith("position_bias") and entry.kind is not OperationKind.NORM
    if entry.adapter:
        return "adapters"
    if where == AFTER:
        return "final norm" if roles[:1] == ["norms"] else "head"
    if "cross-attention" in names:
        return "cross-attention"
    if where == BEFORE:
        return _embedding(parts, entry, alone)
    if any(isinstance(part, DistanceEmbedding) for part in parts):
        return "positions"
    if "attention" in roles:
        latent = any(isinstance(part, LatentAttention) for part in parts)
        if roles[-1] == "norms" and not latent:
            merged = any(getattr(part, "output_norm", None) is not None for part in parts)
            name = entry.path.rpartition(".")[2]
            return "attention" if merged and name not in ("q_norm", "k_norm") else "query and key norms"
        sinks = getattr(parts[-1], "sinks", False) or label.endswith(".sinks")
        if entry.kind is OperationKind.PARAMETER and not bias and sinks:
            return "attention sinks"
        return "attention biases" if bias else "attention"
    if {*RECURRENT} & {*roles} or any(isinstance(part, ShortConvolution) for part in parts):
        return "attention"
    if "MLP" in roles:
        return "MLP biases" if bias else "MLP"
    if roles[-1] == "norms":
        return "block"
    if "layer-scale" in names or (entry.kind is OperationKind.MULTIPLY and "adaptive-block" not in names):
        return "residual branches"
    return "conditioning" if "adaptive-block" in names else "block" if "block" in roles else OTHER


def _embedding(parts: Sequence[Component], entry: Entry, alone: bool) -> str:
    if entry.path.startswith((FRAMES, MASKED_FRAME)):
        return "audio embedding"
    if entry.path.startswith(PROJECTORS):
        return "projector"
    for part in parts:
        match part:
            case PositionEmbedding() | DistanceEmbedding() | ConvolutionalPositions():
                return "positions"
            case WaveEncoder():
                return "audio embedding"
            case SegmentEmbedding():
                return "segment embedding"
            case PatchEmbedding():
                return "image embedding"
            case TokenEmbedding() | Linear():
                return "token embedding"
            case Component(role="norms"):
                distances = alone and entry.path.startswith("encoder.LayerNorm")  # the norm of distances in DeBERTa
                return "positions" if distances else "embedding norm"
            case Component(name="conditioning"):
                return "conditioning"
    if entry.kind is OperationKind.MULTIPLY:  # a factor of the embeddings
        return "token embedding"
    if entry.kind is OperationKind.CONVOLUTION and len(entry.weights[0].shape) == VIDEO:
        return "image embedding"
    if entry.kind is OperationKind.LOOKUP and entry.function == "positions":
        return "positions"
    if entry.kind is OperationKind.CONVOLUTION:  # whose only model without patches is Whisper
        return "audio embedding"
    if entry.kind is OperationKind.PARAMETER and entry.weights:
        path = entry.weights[0].path
        return "positions" if "pos" in path or "rel" in path else "image embedding"
    return OTHER
