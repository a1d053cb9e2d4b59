"""Tensors that each implementation saves during the forward pass for the backward pass.

An operation saves the tensors its gradient needs: some of its inputs, some of its outputs and intermediates. A tensor
that several operations save is counted once, with the operation that produced it. Weights are excluded. A recomputed
region saves its inputs only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from sympy import Add, Expr, Integer, Max, Min, Mul, Symbol, cancel

from ..formulas.account import Term
from ..formulas.formula import Formula
from ..language.errors import RuleError
from ..language.sizes import AtMost, Condition, Differs, Equals, Excludes
from ..language.symbols import B, B_vis, S, Z, Z_patch
from ..ledger.adapters import is_adapted
from ..ledger.facts import (
    ATTENDING,
    COMPLEX_ROTARY,
    EARLIER,
    HALF_ROTARY,
    INDEXED,
    ONE,
    REPEATED_ROTARY,
    REPEATED_SINGLE_ROTARY,
    REST,
    ROTARY,
    SEQUENCE_ROTARY,
    ZERO,
    Entry,
    Ledger,
    OperationKind,
    Scope,
    Tensor,
    equal,
)
from ..ledger.layer_kinds import mixtures
from ..ledger.placement import CHOICES, in_flight
from .kernels import IMPLEMENTATIONS
from .kernels.delta_rules import ordered_differently
from .kernels.routed_experts import aligned, weight_size
from .kernels.saves import LONG, SINGLE, SIZES, made
from .kernels.scans import stored_output
from .layer_kind_merge import merge_terms
from .quantity import Convention, Conventions, Countable

REST_OF_VIEW = " (rest of a view)"  # label of what eager attention saves of a projection besides the parts it reads
FUSED = 256  # largest head dimension for which transformers lets torch's fused attention handle grouped queries


@dataclass
class SavedTensors:
    """The set of saved tensors.

    All outputs of repeated layers except the last are read by the next layer, and the last by the operations after the
    layers, so the two are recorded separately.
    """

    conventions: Conventions
    makers: Mapping[int, Entry]
    loops: Mapping[int, Scope]  # the input of each layer -> the repeated layers
    whole: dict[int, Expr] = field(default_factory=dict)  # a saved tensor -> the share of its copies that is saved
    inside: dict[int, Expr] = field(default_factory=dict)  # the output of repeated layers -> how many of them are saved
    earlier: set[int] = field(
        default_factory=set
    )  # the output of repeated layers of which an earlier one is saved, too
    entered: set[int] = field(default_factory=set)  # repeated layers that save their input
    # Inputs and the last output of layers of several kinds, whose producer depends on the order of the kinds, with the
    # bytes of one. They are counted with the operation that reads them.
    unordered: Mapping[int, Expr] = field(default_factory=dict)
    read: set[int] = field(default_factory=set)  # of these, those that are counted already

    def storage(self, tensor: Tensor) -> Tensor:
        """Return the tensor that owns the memory: views and disabled dropout have none of their own."""
        if tensor.base is not None:
            return self.storage(tensor.base)
        maker = self.makers.get(id(tensor))
        off = self.conventions["dropout"] == "off"
        if maker is not None and (_selects(maker) or (maker.kind is OperationKind.DROPOUT and off)):
            return self.storage(maker.inputs[0])
        return tensor

    def made(self, tensor: Tensor) -> bool:
        """Return True if the model produces the tensor, so it is not an input of the model."""
        key = id(self.storage(tensor))
        return key in self.makers or key in self.loops

    def repeated_table(self, tensor: Tensor) -> Entry | None:
        """Return the entry of a rotary table of which each layer saves a copy, or None for another tensor."""
        maker = self.makers.get(id(self.storage(tensor)))
        repeated = (REPEATED_ROTARY, REPEATED_SINGLE_ROTARY)
        found = maker is not None and maker.kind is OperationKind.POSITIONS and maker.function in repeated
        return maker if found else None

    def repeated(self, tensor: Tensor) -> bool:
        """Return True if each repeated layer has such a tensor, or reads it."""
        storage = self.storage(tensor)
        if id(storage) in self.loops:
            return True
        return any(entry.output is storage for scope in self.loops.values() for _, entry in Ledger(scope, None))

    def keep(self, tensor: Tensor, share: Expr = ONE, used: Expr = ONE) -> None:
        """Save a tensor. For the input of repeated layers, save the first input and the output of each layer.

        With a ``share`` of the layers, the first layer does not save it. If only a share is ``used``, the last ones do
        not: torch frees the graph of layers on which the output does not depend.
        """
        storage = self.storage(tensor)
        if id(storage) in self.unordered:
            raise _order_error(storage.name)
        maker = self.makers.get(id(storage))
        if maker is not None and maker.kind is OperationKind.SELECT and maker.function == EARLIER:
            self.earlier.add(id(self.storage(maker.inputs[0])))
            return
        scope = self.loops.get(id(storage))
        if scope is not None and scope.loop is not None:
            self.entered.add(id(scope))
            if share == 1:
                self.keep(scope.loop[0])
            key = id(self.storage(scope.loop[2]))
            self.inside[key] = max(self.inside.get(key, ZERO), cancel(scope.count * used - 1), key=_ends)
        elif id(storage) not in self.makers:
            raise RuleError(
                f"activations counts tensors that the model produces, and {storage.name!r} is an input of the model"
            )
        elif self.makers[id(storage)].kind is not OperationKind.PARAMETER:  # a stored weight is not an activation
            own = share if used == 1 else used
            self.whole[id(storage)] = widest(own, self.whole.get(id(storage), ZERO))

    def share(self, entry: Entry) -> Expr:
        """Return the fraction of an entry's copies whose output is saved."""
        given = {id(self.storage(scope.loop[2])): scope.count for scope in self.loops.values() if scope.loop}
        key = id(entry.output)
        if key not in given:
            return self.whole.get(key, ZERO)
        count, inside = given[key], self.inside.get(key, ZERO)
        # The next layer saves the output of an earlier layer, unless torch frees that layer.
        freed = key in self.earlier and inside != 0 and cancel(inside - count + 1) != 0
        return cancel((inside + int(freed) + int(key in self.whole)) / count)


def _ends(count: Expr) -> tuple[bool, Expr]:
    """Return a key that sorts numbers of layers: none, all but the last ones, and the whole number of them."""
    return count != 0, count.as_coefficients_dict()[ONE]


def widest(*shares: Expr) -> Expr:
    """Return the largest share of the layers: all, all but the first, or none."""
    return max(shares, key=lambda share: 0 if share == 0 else 2 if share == 1 else 1)


def narrowest(*shares: Expr) -> Expr:
    """Return the smallest share of the layers."""
    return min(shares, key=lambda share: 0 if share == 0 else 2 if share == 1 else 1)


def element_size(entry: Entry, conventions: Conventions) -> Expr:
    """Return the bytes per element of the output of an entry."""
    if entry.kind is OperationKind.ROUTE:
        return weight_size(entry, conventions)
    if entry.kind is OperationKind.SCAN or entry.float32:
        return SINGLE
    if entry.function in ("rotary_single", REPEATED_SINGLE_ROTARY, COMPLEX_ROTARY):
        return SINGLE
    size = SIZES[conventions["dtype"]]
    return size / 2 if entry.function == HALF_ROTARY else size


def _selects(maker: Entry) -> bool:
    """Return True if the operation is a view of the same position in every sequence, or of the last layer's output.

    The positions without the first are a view, too, but the linear layer that reads them copies them.
    """
    other = (INDEXED, REST) if maker.skipped == 0 else (INDEXED, REST, EARLIER)
    return maker.kind is OperationKind.SELECT and maker.function not in other


def activation_terms(ledger: Ledger, conventions: Conventions) -> dict[int, tuple[Term, ...]]:
    """Return the saved bytes that each entry produces.

    Parameters
    ----------
    ledger : Ledger
        The operations of the model.
    conventions : Conventions
        The implementation, the dtype, dropout and recomputation.

    Returns
    -------
    dict[int, tuple[Term, ...]]
        The terms by the identity of the entry.

    Raises
    ------
    RuleError
        For an operation that the implementation does not support.

    """
    return merge_terms(ledger, _kept(ledger.apart, conventions))


def _kept(
    ledger: Ledger, conventions: Conventions, unordered: Mapping[int, Expr] | None = None
) -> dict[int, tuple[Term, ...]]:
    """Return the saved bytes for a ledger with separated layer kinds.

    If only some kinds save their input, ``unordered`` has these inputs.
    """
    implementation = conventions["implementation"]
    if implementation != "megatron" and (shared := [name for name in CHOICES if name in conventions]):
        raise RuleError(
            f"{shared[0]}={conventions[shared[0]]} with implementation={implementation} is not supported; per-rank "
            "activations need implementation=megatron"
        )
    if is_adapted(ledger):
        _check_adapted(ledger, implementation, conventions["recompute"])
    makers = {id(entry.output): entry for _, entry in ledger}
    if conventions["recompute"] != "none" and (
        unused := [entry for _, entry in ledger if entry.used not in (ZERO, ONE)]
    ):
        raise RuleError(
            f"{unused[0].path}: activation memory of layers whose output is not used is not supported with "
            f"recompute={conventions['recompute']}; choose recompute=none"
        )
    if implementation != "megatron":
        _plain(ledger, makers, conventions)
    table = IMPLEMENTATIONS[implementation]
    if _written_out(ledger, conventions):
        if (conventions["dtype"], conventions["recompute"]) != ("fp32", "none"):
            raise RuleError("implementation=sdpa with dropout=on supports only dtype=fp32 and recompute=none")
        table = {
            **table,
            **{
                kind: IMPLEMENTATIONS["eager"][kind]
                for kind in (OperationKind.SCORES, OperationKind.SOFTMAX, OperationKind.MIX)
            },
        }
    loops = {id(scope.loop[1]): scope for scope in ledger.root.walk() if scope.loop}
    kept = SavedTensors(conventions, makers, loops, unordered=unordered or {})
    again = _recomputed(ledger, makers, conventions["recompute"])
    inside = {id(entry) for region in again for entry in region}
    terms: dict[int, tuple[Term, ...]] = {}
    for _, entry in ledger:
        saved = table[entry.kind](entry, conventions)  # raises for unsupported kinds even if nothing would be saved
        if entry.output.grad == 0 or id(entry) in inside:
            continue
        if entry.logits and conventions.get("loss") == CHUNKED:
            continue  # the loss computes the logits and the gradients of the head at once
        outside = [tensor for tensor in saved.given if not kept.made(tensor)]
        given = (made(entry, "input", tensor.shape, SIZES[conventions["dtype"]]) for tensor in outside)
        read = (*saved.reads, *((entry.output,) if saved.output else ()))
        read += tuple(tensor for tensor in saved.given if tensor not in outside)
        terms[id(entry)] = ()
        for each, needed in (*((each, ONE) for each in (*read, *given, *saved.makes)), *saved.partly):
            share = narrowest(needed, entry.output.grad)
            if entry.used == 0:
                continue  # torch frees its graph
            if isinstance(each, Tensor) and (angles := kept.repeated_table(each)) is not None:
                if entry.path.endswith("query"):  # the keys of the layer read the same copy
                    shape, size = angles.output.shape[1:], element_size(angles, conventions)
                    copies = (made(entry, name, shape, size) for name in ("cosines", "sines"))
                    terms[id(entry)] = (*terms[id(entry)], *copies)
            elif isinstance(each, Tensor) and (size := kept.unordered.get(id(storage := kept.storage(each)))):
                if (share, entry.used) != (ONE, ONE) or each is entry.output:
                    raise _order_error(entry.path)
                if id(storage) not in kept.read:
                    kept.read.add(id(storage))
                    terms[id(entry)] = (*terms[id(entry)], made(entry, "input of the layer", storage.shape, size))
            elif isinstance(each, Tensor):
                if share not in (ZERO, ONE) and not kept.repeated(each):
                    share = Min(
                        1, cancel(share / (1 - share))
                    )  # of a table for all layers, which the first may not use
                if share != 0:
                    kept.keep(each, share, entry.used)
            elif share != 0:
                factors = (*each.factors, *(part for part in (share, entry.used) if part != 1))
                terms[id(entry)] = (*terms[id(entry)], replace(each, factors=factors))
    for region in again:
        within = {id(entry.output) for entry in region}
        for tensor in (tensor for entry in region for tensor in entry.inputs):
            if id(kept.storage(tensor)) not in within:
                kept.keep(tensor)
    if unordered is None and (found := _unordered(ledger, kept)):
        return _kept(ledger, conventions, found)
    _check_unordered(ledger, kept)
    for entry in makers.values():
        if (share := kept.share(entry)) != 0:
            each = element_size(entry, conventions)
            shape = entry.output.shape
            if entry.kind is OperationKind.SOFTMAX and entry.shared:  # a view without the column of the sinks
                shape = (*shape[:-1], shape[-1] + 1)
            if entry.kind is OperationKind.SCAN:
                shape = stored_output(entry)
            if entry.function == COMPLEX_ROTARY:  # one tensor, with 8 bytes for each pair of elements
                shape = shape[1:]
            if entry.function == SEQUENCE_ROTARY:
                shape = (shape[0], B, *shape[1:])
            factors = (*shape, each, *((share,) if share != 1 else ()))
            terms[id(entry)] = (Term(f"{entry.path} (output)", factors), *terms.get(id(entry), ()))
    if implementation == "eager":
        for maker, term in _whole_views(ledger, kept, inside):
            terms[id(maker)] = (*terms.get(id(maker), ()), term)
    if again and implementation != "megatron":
        for entry, term in _handed(ledger, conventions):
            terms[id(entry)] = (*terms.get(id(entry), ()), term)
    for entry, term in _loss(ledger, conventions) if conventions.get("loss", EXCLUDED) != EXCLUDED else ():
        terms[id(entry)] = (*terms.get(id(entry), ()), term)
    if (copies := in_flight(conventions.get("pipeline", "off"))) != 1:
        return {key: tuple(Term(term.label, (*term.factors, copies)) for term in some) for key, some in terms.items()}
    return terms


def _whole_views(ledger: Ledger, kept: SavedTensors, inside: set[int]) -> Iterator[tuple[Entry, Term]]:
    """Yield what eager attention saves of a joint projection for a single sequence.

    For several sequences, a product by head copies its queries, keys and values. For one sequence they are views, and
    so is a part of a projection that computes several of them: all of it is saved, instead of a copy of the part.
    """
    for mix, joint, rest in _joint_projections(ledger):
        maker = kept.makers.get(id(joint))
        if maker is not None and id(mix) not in inside and mix.output.grad != 0:
            factors = (rest, SIZES[kept.conventions["dtype"]], Max(0, 2 - joint.shape[0]))
            yield maker, Term(maker.path + REST_OF_VIEW, factors)


def _joint_projections(ledger: Ledger) -> Iterator[tuple[Entry, Tensor, Expr]]:
    """Yield each attention with a projection of which it reads only a part by head, and the elements of the rest."""
    makers = {id(entry.output): entry for _, entry in ledger}
    for _, mix in ledger:
        if mix.kind is not OperationKind.MIX:
            continue
        scores = makers[id(mix.inputs[0])]
        while scores.kind is not OperationKind.SCORES:
            scores = makers[id(scores.inputs[0])]
        queries, keys, values = *scores.inputs, mix.inputs[1]
        for joint in {id(each.root): each.root for each in (queries, keys, values)}.values():
            parts = [each for each in (queries, keys, values) if each.root is joint]
            same = [Mul(*each.shape) for each in parts if each.shape[1] == queries.shape[1]]
            fewer = [each for each in parts if each.shape[1] != queries.shape[1] and each.shape[1].is_Symbol]
            # Keys and values of groups are copied for each query head, unless there is one head in each group.
            alone = Max(0, 1 + fewer[0].shape[1] - queries.shape[1]) if fewer else Integer(0)
            grouped = Add(*(Mul(*each.shape) for each in fewer)) * alone
            whole = cancel(Mul(*joint.shape) - Add(*same)) if same else Mul(*joint.shape) * alone
            rest = whole - grouped
            if rest != 0 and len(joint.shape) == 3:
                yield mix, joint, cancel(rest / alone) * alone if fewer and not same else rest


def _check_adapted(ledger: Ledger, implementation: str, recompute: str) -> None:
    """Raise RuleError for adapters whose saved tensors are not known."""
    if implementation == "megatron" or any(
        entry.adapter and entry.kind is OperationKind.ACTIVATION for _, entry in ledger
    ):
        raise RuleError(
            "activation memory of a model with these adapters is not supported; choose lora= with implementation=eager "
            "or sdpa, or train-memory with implementation=none, which excludes activations"
        )
    tables = [entry for _, entry in ledger if entry.kind is OperationKind.LOOKUP and entry.function == "positions"]
    if recompute != "none" and tables:
        raise RuleError(
            f"{tables[0].path}: activation memory with adapters and frozen positions is not supported with "
            f"recompute={recompute}; choose recompute=none"
        )
    for mixture, kinds in mixtures(ledger).items():
        if mixture.order == "any" and len({_steps(kind) for kind in kinds}) > 1:
            raise RuleError(
                f"{ledger.root.part.title} has layers of {len(kinds)} kinds in any order, and without gradients the "
                "first layer saves less, so the activation memory with adapters depends on the kind of that layer"
            )


def _steps(scope: Scope) -> tuple[object, ...]:
    """Return the operations of a layer with their shapes, without its masks."""
    inside = [entry for _, entry in Ledger(scope, None)]
    above = min((entry.path for entry in inside), key=len).partition("*")[0]
    return tuple(
        (
            *(entry.kind, entry.path.removeprefix(above), tuple(each.shape for each in entry.inputs)),
            *(entry.output.shape, entry.function, entry.frozen),
        )
        for entry in inside
    )


def _order_error(name: str) -> RuleError:
    return RuleError(
        f"{name}: only some kinds of layers save their input, so the saved tensors depend on the order of the layers; "
        "choose recompute=full"
    )


def _partly_saving(ledger: Ledger, kept: SavedTensors) -> Iterator[list[tuple[Tensor, Tensor, Tensor]]]:
    """Yield the layers of several kinds in any order of which only some save their input.

    Each kind has the input of the first such layer, the input of each and the output of each.
    """
    for mixture, kinds in mixtures(ledger).items():
        if mixture.order != "kind by kind" and len({id(kind) in kept.entered for kind in kinds}) > 1:
            yield [kind.loop for kind in kinds if kind.loop]


def _unordered(ledger: Ledger, kept: SavedTensors) -> dict[int, Expr]:
    """Return the inputs and the last output of layers of several kinds of which only some save their input.

    Every layer that saves its input saves one tensor, in any order of the kinds, if all of these tensors are equally
    large and no other operation saves one of them.
    """
    found: dict[int, Expr] = {}
    for loops in _partly_saving(ledger, kept):
        tensors = [loops[0][0], *(output for _, _, output in loops)]
        sizes = {element_size(kept.makers[id(kept.storage(each))], kept.conventions) for each in tensors}
        if len(sizes) > 1:
            raise _order_error(loops[0][0].name)
        (size,) = sizes
        found |= {id(inside): size for _, inside, _ in loops} | {id(kept.storage(loops[-1][2])): size}
    return found


def _check_unordered(ledger: Ledger, kept: SavedTensors) -> None:
    """Raise RuleError if another operation saves the input of layers of which only some kinds save it."""
    for kinds in mixtures(ledger).values():
        loops = [kind.loop for kind in kinds if kind.loop]
        if not any(id(inside) in kept.unordered for _, inside, _ in loops):
            continue
        for tensor in (loops[0][0], *(output for _, _, output in loops)):
            storage = kept.storage(tensor)
            if (maker := kept.makers.get(id(storage))) and kept.share(maker) != 0:
                raise _order_error(storage.name)


def _plain(ledger: Ledger, makers: Mapping[int, Entry], conventions: Conventions) -> None:
    """Raise RuleError for attention with a trained bias or scaled queries that transformers' rules do not cover."""
    sdpa = conventions["implementation"] == "sdpa"
    for _, entry in ledger:
        if entry.kind is OperationKind.SCORES and entry.function == "queries" and sdpa:
            raise RuleError(f"{entry.path}: scaled queries are not supported with implementation=sdpa")
        maker = makers.get(id(entry.inputs[0])) if entry.kind is OperationKind.ADD else None
        if maker is None or maker.kind is not OperationKind.SCORES or entry.inputs[1].grad == 0:
            continue
        if sdpa:
            raise RuleError(f"{entry.path}: a trained attention bias is not supported with implementation=sdpa")
        if conventions["recompute"] != "none":
            raise RuleError(
                f"{entry.path}: an attention bias that layers share is not supported with recomputation; choose "
                "recompute=none"
            )


def _recomputed(ledger: Ledger, makers: Mapping[int, Entry], recompute: str) -> list[list[Entry]]:
    """Return the recomputed regions: attention cores (from the scores to the weighted values) or repeated layers."""
    if recompute == "full":
        if any(scope.distinct is not None for scope in ledger.root.walk()):
            raise RuleError(
                "recompute=full is not supported for layers that share weights; choose recompute=none or selective"
            )
        return [[entry for _, entry in Ledger(scope, None)] for scope in ledger.root.walk() if scope.loop]
    cores = []
    for _, entry in ledger if recompute == "selective" else ():
        if entry.kind is OperationKind.MIX:
            cores.append([entry])
            while cores[-1][-1].kind is not OperationKind.SCORES:
                cores[-1].append(makers[id(cores[-1][-1].inputs[0])])
    if recompute == "selective" and not cores and any(entry.kind is OperationKind.SCAN for _, entry in ledger):
        raise RuleError(
            f"recompute=selective: {ledger.root.part.title} has no attention to recompute; choose recompute=none or "
            "full"
        )
    return cores


def _handed(ledger: Ledger, conventions: Conventions) -> Iterator[tuple[Entry, Term]]:
    """Yield the masks and position indices that transformers passes to every layer and torch's checkpoint saves.

    Eager attention reads a mask [B,1,S,S] in the model's dtype; the fused kernel gets a flag instead. All layers with
    the same mask share one tensor, so each layer counts its share.
    """
    for _, entry in ledger:
        if entry.kind is OperationKind.SCORES and entry.mask == "none" and entry.window is not None:
            raise RuleError(
                f"{entry.path}: bidirectional attention with a window is not supported with "
                f"recompute={conventions['recompute']}; choose recompute=none"
            )
    masked = [(count, entry) for count, entry in ledger if entry.kind is OperationKind.SCORES and entry.mask != "none"]
    masks = {(entry.mask, entry.window, entry.chunked): (count, entry) for count, entry in reversed(masked)}
    for count, entry in masks.values() if conventions["implementation"] == "eager" else ():
        batch, _, queries, keys = entry.output.shape
        factors = (batch, queries, keys, SIZES[conventions["dtype"]], 1 / count)
        yield entry, Term(f"{entry.path} (mask)", factors)
    rotary = [entry for _, entry in ledger if entry.kind is OperationKind.POSITIONS and entry.function in ROTARY]
    rotary = [entry for entry in rotary if entry.output.shape[1].has(S)]  # patches have no indices
    for entry in rotary[:1]:  # the tables of several layer kinds have the same positions
        yield entry, Term(f"{entry.path} (positions)", (entry.output.shape[1], LONG))
    handed = {each.name: each for scope in ledger.root.walk() for each in scope.handed}
    for _, entry in ledger:
        if entry.kind is OperationKind.LOOKUP and entry.inputs[0].name in handed:
            index = handed.pop(entry.inputs[0].name)
            if entry.skipped != 0:  # the lookup reads a new tensor: the indices plus an offset
                yield entry, Term(f"{entry.path} (positions)", (*index.shape, LONG))
    if "positions" in handed and not rotary:
        count, entry = masked[0]
        yield entry, Term(f"{entry.path} (positions)", (*handed["positions"].shape, LONG, 1 / count))


def _loss(ledger: Ledger, conventions: Conventions) -> Iterator[tuple[Entry, Term]]:
    """Yield the tensors that the loss keeps. Raises RuleError for all but causal language models."""
    loss, implementation = conventions["loss"], conventions["implementation"]
    logits = [entry for _, entry in ledger if entry.logits and entry.kind is OperationKind.LINEAR]
    scores = [entry for _, entry in ledger if entry.kind is OperationKind.SCORES]
    causal = any(entry.mask == "causal" for entry in scores) and not any(entry.inputs[1].encoded for entry in scores)
    drawn = {size for _, entry in ledger for dim in entry.output.shape for size in dim.free_symbols}
    if implementation == "megatron" or len(logits) != 1 or not causal or B_vis in drawn:
        raise RuleError(
            f"loss={loss} is supported only for causal language models with an LM head, with "
            "implementation=eager or sdpa"
        )
    (head,) = logits
    if loss == CHUNKED:
        if head.capped or ledger.output is None or ledger.output.root is not head.output:
            raise RuleError(
                f"loss={loss} computes the loss directly from the LM head, and {ledger.root.part.title} changes the "
                f"logits after it; choose loss={CROSS_ENTROPY}"
            )
        size = SIZES[conventions["dtype"]]
        if head.inputs[0].grad != 0:
            yield head, Term(f"{head.path} (gradient of the input)", (*head.inputs[0].shape, size))
        for weight in () if head.frozen else (*head.weights, *head.shared):
            yield head, Term(f"{head.path} (gradient of {weight.path})", (*weight.shape, size))
        return
    yield head, Term(f"{head.path} (log-probabilities)", (*head.output.shape, SINGLE))
    yield head, Term(f"{head.path} (targets)", (*head.output.shape[:-1], LONG))
    yield head, Term(f"{head.path} (number of targets)", (SINGLE,))


def _written_out(ledger: Ledger, conventions: Conventions) -> bool:
    """Return True if torch falls back to unfused attention: no CPU kernel applies dropout to attention weights."""
    if (conventions["implementation"], conventions["dropout"]) != ("sdpa", "on"):
        return False
    weights = {id(entry.inputs[0]) for _, entry in ledger if entry.kind is OperationKind.MIX}
    return any(entry.kind is OperationKind.DROPOUT and id(entry.output) in weights for _, entry in ledger)


def check_implemented(part: Countable, implementation: str, besides: str = "") -> None:
    """Raise RuleError if the implementation needs transformers and does not support this model.

    Parameters
    ----------
    part : Counted
        The component to count.
    implementation : str
        The chosen implementation.
    besides : str
        Further alternatives to implementation=megatron, to name in the error message.

    """
    if implementation not in ("eager", "sdpa"):
        return
    if part.library != "transformers":
        raise RuleError(
            f"implementation={implementation} counts the tensors that transformers saves, but transformers does not "
            f"have this model; {_instead(part, besides)}"
        )
    if part.activation_refusal:
        raise RuleError(
            f"implementation={implementation} counts the tensors that transformers saves, but "
            f"{part.activation_refusal}; {_instead(part, besides)}"
        )
    if implementation == "sdpa" and not part.accepts_sdpa:
        raise RuleError(
            "implementation=sdpa: the class of transformers does not accept torch's fused attention; choose "
            "implementation=eager"
        )


def _instead(part: Countable, besides: str) -> str:
    """Return what to do about a model whose saved tensors in transformers are not known."""
    conventions = {"implementation": "megatron", "dtype": "fp16", "dropout": "on", "recompute": "none"}
    try:
        activation_terms(part.ledger, conventions)
    except RuleError:
        return "to exclude activations, choose train-memory with implementation=none"
    return f"choose implementation=megatron{besides}"


def saved_conditions(ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
    """Return the conditions under which the masks and key/value copies of transformers are counted correctly.

    Parameters
    ----------
    ledger : Ledger
        The operations of the model.
    conventions : Conventions
        The implementation, dropout and recomputation.

    """
    scores = [entry for _, entry in ledger if entry.kind is OperationKind.SCORES]
    grouped = {k.shape[1:4:2] for q, k in (entry.inputs for entry in scores) if q.shape[1] != k.shape[1]}
    found: list[Condition] = [*aligned(ledger, conventions)]
    scanned = {entry.inputs[0].shape[1] for _, entry in ledger if entry.kind is OperationKind.SCAN}
    for size in [S, *sorted(scanned, key=str)] if scanned else []:
        if isinstance(size, Symbol):
            found.append(Excludes((size,), "in that case torch saves views of the inputs of a scan instead of copies"))
    found += ordered_differently(ledger, conventions)
    if any(entry.function == REST for _, entry in ledger if entry.kind is OperationKind.SELECT):
        viewed = "in that case torch saves a view of the features of the image instead of a copy"
        found += [Differs(Z, Z_patch, viewed), Excludes((B_vis,), viewed)]
    if conventions["implementation"] == "sdpa":
        # Causal attention needs only a flag of the fused kernel. A window needs a mask of floats in each layer, and
        # with a mask transformers copies grouped keys and values: masking_utils._ignore_causal_mask_sdpa.
        held = "in that case transformers creates a mask that every layer saves; choose implementation=eager"
        windows = {entry.window for entry in scores if entry.window is not None}
        found += [AtMost(S, window - 1, held) for window in sorted(windows, key=str)]
    if _written_out(ledger, conventions):
        copied = "in that case torch copies the queries and keys again"
        alone = {B, *(heads for heads in (entry.inputs[0].shape[1] for entry in scores) if heads.is_Symbol)}
        found += [Excludes((size,), copied) for size in sorted(alone, key=str)]
    elif conventions["recompute"] != "none":  # the region saves the tensors before the copies
        return tuple(found)
    if conventions["implementation"] == "sdpa":
        found += _equal_widths(ledger)
    if conventions["implementation"] == "eager":
        heads = {mix.output.shape[1] for mix, _, _ in _joint_projections(ledger)}
        because = "in that case torch saves a view of a whole projection instead of a copy of a part"
        found += [Excludes((each,), because) for each in sorted(heads, key=str) if isinstance(each, Symbol)]
    # transformers repeats keys and values with expand and reshape (repeat_kv), and torch.matmul reshapes the result
    # again. One of the two copies, unless there is nothing to copy: one sequence with one key/value head.
    shared = "in that case torch saves a view of the keys and values instead of a copy for each query head"
    for group, width in sorted(grouped, key=str):
        if conventions["implementation"] == "eager" and (isinstance(group, Symbol) or group == 1):
            both = (B, group) if isinstance(group, Symbol) else (B,)
            found.append(Excludes(both, shared))
        if conventions["implementation"] == "sdpa":
            found.append(
                AtMost(width, Integer(FUSED), "in that case transformers copies keys and values for every query head")
            )
    return tuple(found)


def _equal_widths(ledger: Ledger) -> list[Condition]:
    """Return the conditions that values are as wide as keys, without which torch has no fused kernel on the CPU."""
    found: dict[Condition, None] = {}
    keys = [entry.inputs[1].width for _, entry in ledger if entry.kind is OperationKind.SCORES]
    values = [entry.inputs[1].width for _, entry in ledger if entry.kind is OperationKind.MIX]
    without = "torch has no fused attention on the CPU for values of another width than the keys"
    for key, value in zip(keys, values, strict=True):
        if equal(key, value):
            continue
        if not isinstance(value, Symbol):
            raise RuleError(f"implementation=sdpa: {without}; choose implementation=eager")
        found[Equals(value, key, f"{without}; choose implementation=eager")] = None
    return list(found)


def saved_notes(formula: Formula, half: bool) -> list[str]:
    """Return sentences on the dtype of adapters, and on the tensors that another device saves.

    Parameters
    ----------
    formula : Formula
        A formula with activations.
    half : bool
        Whether the model computes in half precision.

    """
    entries = [line.entry for _, line in formula.root.leaves() if line.entry]
    found = []
    if any(entry.adapter for entry in entries):
        found.append(ADAPTED)
    if half and any(entry.kind is OperationKind.NORM and entry.function == "layer" for entry in entries):
        found.append(ON_CUDA)
    return found


ADAPTED = (
    "Adapters have the dtype of the model (autocast_adapter_dtype=False in peft). With dropout=on, their input has "
    "dropout."
)
ON_CUDA = (
    "On CUDA, torch saves the mean and 1/std of a layer norm in float32, which is 4 bytes more for each token than on "
    "the CPU."
)
EXCLUDED, CROSS_ENTROPY, CHUNKED = "excluded", "cross-entropy", "linear-cross-entropy"
BUFFERS = "temporary buffers (such as activations while they are recomputed in the backward pass)"
CHECKPOINTED = "the random state that torch stores for each checkpointed part"
LOSS = Convention(
    {
        EXCLUDED: "the loss is excluded, with the tensors that only it saves, such as the logits or their "
        "log-probabilities",
        CROSS_ENTROPY: "the loss of transformers saves the log-probabilities in float32, the targets and their number",
        CHUNKED: "the loss is torch's linear_cross_entropy with options: it never stores all logits, but its "
        "forward pass computes and keeps the gradients of the input and of the weights of the LM head",
    },
    lambda entry: entry.logits,
    hidden_by_default=True,
    always_printed=True,
    unusual=[CROSS_ENTROPY, CHUNKED],
)
DROPOUT = Convention(
    {"off": "dropout is disabled", "on": "dropout is enabled and saves its mask"},
    lambda entry: entry.kind is OperationKind.DROPOUT,
)


RECOMPUTE = Convention(
    {
        "none": "nothing is recomputed",
        "selective": "the attention core (from the scores to the weighted values) is recomputed, so it saves only its "
        "inputs",
        "full": "every repeated layer is recomputed, so it saves only its inputs",
    },
    lambda entry: entry.kind in ATTENDING or "*" in entry.path.split("."),
)


def without_recomputation(statement: str, formula: Formula) -> str:
    """Return the statement of a formula, without what only recomputation needs if nothing is recomputed."""
    if formula.conventions.get("recompute", "none") != "none":
        return statement
    buffers = BUFFERS.partition(" (")[0]
    return statement.replace(f", {BUFFERS} and {CHECKPOINTED}", f" and {buffers}").replace(BUFFERS, buffers)
