"""Rules for generation with a cache: KV cache, recurrent state, convolution state, and one-token steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from sympy import Expr, Integer, Min, Symbol, floor

from ..formulas.account import Line, Term
from ..formulas.formula import Formula, SizeSource
from ..language.errors import RuleError
from ..language.notation.text import text
from ..language.sizes import AtMost, Condition, Divides, Relations
from ..language.symbols import B, C, C_pre, S, S_step, W
from ..ledger.facts import (
    ATTENDING,
    CARRYING,
    EARLIER_INPUTS,
    INDEXED,
    OVERLAPPING,
    SHIFTED,
    Entry,
    Ledger,
    OperationKind,
)
from .cache_engines import ENGINE_MEANINGS, ENGINES, NO_ENGINE, Engine, engine_of
from .cache_formats import CACHE_FORMATS, ELEMENTS, PAGES, CacheFormat, paged, whole_pages
from .contractions import applies_general_delta_rule, forward
from .elementwise import earlier_keys
from .quantity import Convention, Conventions, Countable, Quantity, tally
from .vllm_pages import PagePlan

SIZES: Mapping[str, Expr] = ELEMENTS
CACHE, RECURRENT = "cache", "recurrent state"  # the purposes of terms: keys and values, and states of fixed size
DTYPE = {
    "bf16": "2 bytes per element",
    "fp16": "2 bytes per element",
    "fp32": "4 bytes per element",
    "fp8": "1 byte per element",
    "symbolic": "W bytes per element",
}
WINDOW = Convention(
    {
        "needed": "a layer with a sliding window caches only the earlier tokens that the next token attends to, as in "
        "transformers",
        "rolling": "a layer with a sliding window caches a buffer of its length, Jiang et al. 2023 [jiang2023], "
        "section 2",
        "reserved": "every layer caches all C tokens, regardless of its window",
    },
    lambda entry: entry.window is not None,
)

BLOCK = Convention(PAGES, lambda entry: entry.kind in ATTENDING, hidden_by_default=True, unusual=PAGES)
ENGINE = Convention(ENGINE_MEANINGS, hidden_by_default=True, unusual=ENGINES)
PREFIX = Convention(
    {
        "off": "every sequence caches all of its own tokens",
        "shared": "all sequences start with the same C_pre tokens, which are cached once (in pages, only whole pages "
        "are shared), Kwon et al. 2023 [kwon2023], section 4.4",
    },
    lambda entry: entry.kind in ATTENDING,
    hidden_by_default=True,
    unusual=("shared",),
)
STATE_DTYPE = Convention(
    {
        "fp32": "the recurrent state is stored in float32, as in transformers",
        "model": "the recurrent state is stored in the dtype of the model",
    },
    lambda entry: entry.kind in CARRYING,
    hidden_by_default=True,
    unusual=("model",),
)
LATENT = Convention(
    {
        "compressed": "latent attention caches the latent and the rotary key, as in transformers",
        "expanded": "latent attention caches the keys and values of every head",
    },
    lambda entry: bool(entry.latent),
)

STATE_BYTES = (
    "The recurrent state is stored in float32, 4 bytes per element, regardless of the other dtypes, as in transformers."
)
GENERAL_STATE_BYTES = (
    "The recurrent state is stored in float32, 4 bytes per element, regardless of the other dtypes, as in the authors' "
    "code."
)
SHIFT_BYTES = (
    "Each token shift stores its input at the last token in the model's dtype: the dtype of {of}, or 2 bytes per "
    "element if that dtype is fp8."
)
CONVOLUTION_BYTES = (
    "The convolution state has the model's dtype, as in transformers: the dtype of {of}, or 2 bytes per element if "
    "that dtype is fp8."
)

REUSED = "A layer that reuses the keys and values of an earlier layer caches none."

NO_GROUP = "choose a larger value: before the first group of tokens is complete, the cache has no group to overlap with"
COMPRESSED_BYTES = (
    "In addition to the keys of its window, an attention layer with compressed keys caches one entry for each complete "
    "group of tokens, and the projections and the gates of the tokens of the incomplete group. If the entries overlap, "
    "it also caches the tokens of the last complete group, whose gates are stored in float32, 4 bytes per element, "
    "because transformers adds a bias in float32 to them. The other tokens have the model's dtype: the dtype of {of}, "
    "or 2 bytes per element if that dtype is fp8."
)
CHOSEN = (
    "Products of the new token with all cached tokens are computed, as in transformers, which then masks the keys that "
    "are not chosen."
)

PLAIN_CACHE = "choose another format, such as bf16"
SHORT_PREFIX = "choose a prefix of at most C tokens"

DIVIDES = {
    "context": ("on", "N_cp"),
    "tensor": ("sequence", "N_tp"),
}  # how ranks shard a sequence


def tokens(entry: Entry, conventions: Conventions) -> Expr:
    """Return how many of C earlier tokens an attention layer caches. Raises RuleError for pages with a window."""
    window, block = conventions["window"], conventions.get("block", "off")
    if engine := engine_of(conventions):
        return engine.tokens(entry, window, block)
    if entry.window is None or window == "reserved":
        return paged(block)
    if block != "off":
        raise RuleError(
            f"{entry.path}: block={block} is not supported for a layer with a window, whose engines keep another "
            "number of pages; choose window=reserved"
        )
    if entry.chunked and window == "rolling":
        raise RuleError(
            f"{entry.path}: window=rolling needs a sliding window, but this layer attends within chunks; choose "
            "window=needed or window=reserved"
        )
    return Min(C, entry.window) if window == "rolling" else earlier_keys(entry)


def keys_and_values(entry: Entry, form: CacheFormat, conventions: Conventions) -> list[Term]:
    """Return the cached bytes of the keys [B,G,C,D] that the scores read, or of the values that the mix reads.

    Keys and values of an encoder are cached for all its tokens. If ranks shard the sequence, each caches its shard.

    Parameters
    ----------
    entry : Entry
        The scores or the mix of an attention layer.
    form : CacheFormat
        The format of the cache.
    conventions : Conventions
        The conventions of the quantity.

    Raises
    ------
    RuleError
        If the attention cannot be cached, such as bidirectional self-attention.

    """
    cacheable(entry)
    if entry.window == 0 or entry.keyed:  # compressed keys only, which their own rule counts; or the keys themselves
        return []
    if entry.output.encoded or entry.recalled:  # an encoder's own attention runs once; recalled keys are recomputed
        return []
    if entry.reused:  # an earlier layer caches them
        return []
    block = conventions.get("block", "off")
    if conventions.get("tokens") == "one":
        check_unsharded(entry, conventions, ("context",))
        if block != "off":
            raise RuleError(f"{entry.path}: tokens=one has no formula with pages; choose block=off")
        read = {S: Integer(1)}
    else:
        if block != "off" and conventions.get("context") == "on":
            raise RuleError(f"{entry.path}: block={block} is not supported with context=on; choose block=off")
        read = {S: tokens(entry, conventions)}
    if entry.latent and conventions["latent"] == "compressed":  # one latent serves keys and values
        if not form.fits_latents:
            raise RuleError(
                f"{entry.path}: a cache in {form.name} is not supported for latents, which have no heads; {PLAIN_CACHE}"
            )
        return latents(entry, form, read, conventions) if entry.kind is OperationKind.SCORES else []
    engine = engine_of(conventions)
    if entry.detached and engine and engine.packs_indexers:
        form = CACHE_FORMATS["fp8-ds-mla"]
    if form.packed and not entry.detached:
        raise RuleError(
            f"{entry.path}: {form.name} is a format for latents, but this layer caches keys and values of heads; "
            f"{PLAIN_CACHE}"
        )
    own = entry.share or entry.inputs[1]
    if own.encoded and conventions.get("tokens") == "one":  # one more token adds no encoder token
        return []
    batch, heads, length, width = own.shape
    if entry.compressed is not None:  # the compressed keys have a rule of their own
        length = S
    what = "keys" if entry.kind is OperationKind.SCORES else "values"
    if own.encoded:
        if engine and not engine.stores_encoders:
            raise RuleError(f"{entry.path}: how {engine.title} caches cross-attention is not known; {NO_ENGINE}")
        places = (batch, heads, engine.room(block, length) if engine else paged(block, length))
    else:
        places = _shared_places((batch, heads, length.xreplace(read)), entry, conventions)
    if entry.compressed is not None and engine:
        raise RuleError(f"{entry.path}: how {engine.title} caches compressed keys is not known; {NO_ENGINE}")
    if entry.compressed is not None and not form.is_plain:
        raise RuleError(f"{entry.path}: a cache in {form.name} is not supported for compressed keys; {PLAIN_CACHE}")
    if entry.compressed is not None and block != "off":
        raise RuleError(f"{entry.path}: block={block} is not supported for compressed keys; choose block=off")
    terms = [Term(f"{entry.path} ({what})", (*places, width, form.element), purpose=CACHE)]
    if form.scale:
        scales = (*places, Integer(form.scale))
        terms.append(Term(f"{entry.path} (scales of {what})", scales, purpose=CACHE))
    return terms


def _shared_places(places: tuple[Expr, ...], entry: Entry, conventions: Conventions) -> tuple[Expr, ...]:
    """Return the factors for the cached tokens of B sequences, with their shared prefix counted once.

    Parameters
    ----------
    places : tuple[Expr, ...]
        The batch size, perhaps a number of heads, and the tokens of a sequence.
    entry : Entry
        The attention.
    conventions : Conventions
        The conventions of the quantity.

    Raises
    ------
    RuleError
        For a layer with a window, or on ranks that shard the sequence.

    """
    if conventions.get("prefix") != "shared" or conventions.get("tokens") == "one":
        return places
    if entry.window is not None and conventions["window"] != "reserved":
        raise RuleError(
            f"{entry.path}: prefix=shared is not supported for a layer with a window; choose window=reserved"
        )
    if conventions.get("context") == "on":
        raise RuleError(f"{entry.path}: prefix=shared is not supported with context=on; choose context=off")
    batch, *heads, own = places
    prefix = whole_pages(conventions.get("block", "off"), C_pre)
    return (*heads, prefix + batch * (own - prefix))


def latents(entry: Entry, form: CacheFormat, read: Mapping[Symbol, Expr], conventions: Conventions) -> list[Term]:
    """Return the cached bytes of the latent and of the rotary key that all heads share.

    Parameters
    ----------
    entry : Entry
        The scores of latent attention.
    form : CacheFormat
        The format of the cache. Its blocks run over the latent and the rotary key, which are stored together.
    read : Mapping[Symbol, Expr]
        The number of cached tokens.
    conventions : Conventions
        The conventions of the quantity.

    """
    latent, key = entry.latent
    sizes = (form.element, ELEMENTS["bf16"] if form.packed else form.element)
    found = []
    for x, size in zip((latent, key), sizes, strict=True):
        *places, width = (dim.xreplace(read) for dim in x.shape)
        factors = (*_shared_places(tuple(places), entry, conventions), width, size)
        found.append(Term(f"{x.name} (latent)", factors, purpose=CACHE))
    return found


def model_dtype(dtype: str) -> str:
    """Return the dtype of a model whose cache or weights have this format: bf16 if no model computes in it.

    >>> model_dtype("fp32"), model_dtype("fp8"), model_dtype("q8_0")
    ('fp32', 'bf16', 'bf16')
    """
    return dtype if dtype in ("bf16", "fp16", "fp32", "symbolic") else "bf16"


def reuses(entry: Entry) -> bool:
    """Return whether an operation is attention with the keys and values of an earlier layer."""
    return entry.reused


def keeps_places(entry: Entry) -> bool:
    """Return whether an operation is a convolution with a state: a causal one, outside any encoder."""
    return entry.kind is OperationKind.CONVOLUTION and entry.causal and not entry.output.encoded


def scans(entry: Entry) -> bool:
    """Return whether an operation is the scan of a state-space layer, which carries a recurrent state."""
    return entry.kind is OperationKind.SCAN


def applies_delta_rule(entry: Entry) -> bool:
    """Return whether an operation is the delta rule of a linear-attention layer, which carries a recurrent state."""
    return entry.kind is OperationKind.DELTA_RULE and not applies_general_delta_rule(entry)


def shifts(entry: Entry) -> bool:
    """Return whether an operation is a token shift, whose input at the last token is kept, outside any encoder."""
    return entry.kind is OperationKind.SELECT and entry.function == SHIFTED and not entry.output.encoded


def recurs(entry: Entry) -> bool:
    """Return whether an operation is the gated linear recurrence of a recurrent block, which carries a state."""
    return entry.kind is OperationKind.RECURRENCE


def chooses(entry: Entry) -> bool:
    """Return whether an operation chooses the keys that a query attends to."""
    return entry.kind is OperationKind.CHOOSE


def convolved(entry: Entry, dtype: str, conventions: Conventions) -> list[Term]:
    """Return the bytes of a convolution state [B,E,k], with one place per kernel position, as in transformers.

    Some classes do not store the current input: k - 1 places.

    Parameters
    ----------
    entry : Entry
        A convolution.
    dtype : str
        The dtype taken as the model's: the state has this dtype, or 2 bytes per element if it is fp8.
    conventions : Conventions
        The conventions of the quantity.

    Raises
    ------
    RuleError
        For a convolution that is not causal.

    """
    cacheable(entry)
    if entry.output.encoded or conventions.get("tokens") == "one":  # an encoder's convolution runs once
        return []
    batch, channels, _ = entry.inputs[0].shape
    engine, size = engine_of(conventions), SIZES[model_dtype(dtype)]
    if engine:
        check_states(entry, engine)
        size = engine.convolution_size(size)
    (places,) = entry.weights[0].shape[2:]
    places = places - 1 if engine or entry.function == EARLIER_INPUTS else places
    return [Term(f"{entry.path} (convolution state)", (batch, channels, places, size), purpose=RECURRENT)]


def shifted(entry: Entry, dtype: str, conventions: Conventions) -> list[Term]:
    """Return the bytes [B,E] of the input of a token shift at the last token, and none for another selection.

    Parameters
    ----------
    entry : Entry
        A selection.
    dtype : str
        The dtype taken as the model's: the tensor has this dtype, or 2 bytes per element if it is fp8.
    conventions : Conventions
        The conventions of the quantity.

    Raises
    ------
    RuleError
        For the selection of the end-of-text position.

    """
    cacheable(entry)
    if not shifts(entry) or conventions.get("tokens") == "one":
        return []
    batch, _, width = entry.output.shape
    engine, size = engine_of(conventions), SIZES[model_dtype(dtype)]
    if engine:
        check_states(entry, engine)
        size = engine.convolution_size(size)
    return [Term(f"{entry.path} (last token)", (batch, width, size), purpose=RECURRENT)]


def check_states(entry: Entry, engine: Engine) -> None:
    """Raise RuleError for an engine whose states are not known."""
    if not engine.stores_states:
        raise RuleError(f"{entry.path}: how {engine.title} stores recurrent states is not known; {NO_ENGINE}")


def compresses(entry: Entry) -> bool:
    """Return whether an operation replaces each group of tokens by one entry."""
    return entry.kind is OperationKind.COMPRESS


def compressed(entry: Entry, size: Expr, dtype: str, conventions: Conventions) -> list[Term]:
    """Return the bytes of the compressed entries, and of the tokens that later entries need.

    These are the tokens and the gates of the incomplete group, and of the last complete group if entries overlap.

    Parameters
    ----------
    entry : Entry
        A compression.
    size : Expr
        The bytes per element of the cache.
    dtype : str
        The dtype taken as the model's: the tokens have this dtype, or 2 bytes per element if it is fp8.
    conventions : Conventions
        The conventions of the quantity.

    Raises
    ------
    RuleError
        For one more token, which completes a group only in some steps.

    """
    rate = entry.compressed or Integer(1)
    if conventions.get("prefix") == "shared":
        raise RuleError(f"{entry.path}: prefix=shared is not supported for compressed entries; choose prefix=off")
    if engine := engine_of(conventions):
        raise RuleError(f"{entry.path}: how {engine.title} caches compressed entries is not known; {NO_ENGINE}")
    if conventions.get("tokens") == "one":
        raise RuleError(
            f"{entry.path}: only every {text(rate)}-th token adds a compressed entry, so tokens=one has no formula; "
            "choose tokens=all"
        )
    (batch, _, width), entries = entry.inputs[0].shape, floor(C / rate)
    out, own = entry.output.width, SIZES[model_dtype(dtype)]
    terms = [Term(f"{entry.path} (entries)", (batch, entries, out, size), purpose=CACHE)]
    rest = (batch, C - rate * entries, width, own)
    terms += [Term(f"{entry.path} ({what})", rest, purpose=CACHE) for what in ("incomplete group", "its gates")]
    if entry.function == OVERLAPPING:
        terms.append(Term(f"{entry.path} (last group)", (batch, rate, out, own), purpose=CACHE))
        terms.append(Term(f"{entry.path} (gates of the last group)", (batch, rate, out, SIZES["fp32"]), purpose=CACHE))
    return terms


def state(entry: Entry, dtype: str, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of the recurrent state [B,A,D,N], in float32 by default, as in transformers.

    The state does not depend on the number of tokens. The state of a recurrence is [B,A,D].

    Parameters
    ----------
    entry : Entry
        A scan, a delta rule or a recurrence.
    dtype : str
        The dtype taken as the model's.
    conventions : Conventions
        The conventions of the quantity.

    """
    if conventions.get("tokens") == "one":
        return ()
    if engine := engine_of(conventions):
        check_states(entry, engine)
    size = SIZES[model_dtype(dtype) if conventions.get("state") == "model" else "fp32"]
    if entry.kind is OperationKind.RECURRENCE:
        batch, heads, _, width = entry.inputs[0].shape
        return (Term(f"{entry.path} (recurrent state)", (batch, heads * width, size), purpose=RECURRENT),)
    if entry.kind is OperationKind.DELTA_RULE:
        _, write, x, *_ = entry.inputs
    else:
        x, _, write, _ = entry.inputs
    batch, heads, _, width = x.shape
    factors = (batch, heads, *([width] if width != 1 else []), write.width, size)
    return (Term(f"{entry.path} (recurrent state)", factors, purpose=RECURRENT),)


def per_token_product(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return no terms for a product of each token by itself. Raises RuleError for a product across tokens."""
    summed = entry.inputs[0].width
    places = [axis for axis in entry.output.shape if axis.has(S)]
    if len(places) > 1 or summed.has(S) or any(axis.diff(S, 2) != 0 for axis in places):
        raise RuleError(f"{entry.path}: this product combines tokens, and caching it is not supported")
    return ()


def cacheable(entry: Entry) -> None:
    """Raise RuleError for an operation that cannot use a cache instead of its earlier tokens."""
    if entry.kind is OperationKind.SELECT and entry.function == INDEXED:
        raise RuleError(f"{entry.path}: this selects the end-of-text position, and no token is generated after that")
    if entry.kind is OperationKind.CONVOLUTION and not (entry.causal or entry.output.encoded):
        raise RuleError(f"{entry.path}: this convolution is not causal, so its earlier positions cannot be cached")
    if (
        entry.kind in (OperationKind.SCORES, OperationKind.MIX)
        and entry.mask != "causal"
        and not entry.inputs[1].encoded
    ):
        raise RuleError(
            f"{entry.path}: this attention is not causal, so the keys and values of earlier tokens cannot be cached"
        )


def check_unsharded(entry: Entry, conventions: Conventions, divides: tuple[str, ...] = tuple(DIVIDES)) -> None:
    """Raise RuleError if ranks shard the sequence: one new token cannot be sharded."""
    for name in divides:
        choice, ranks = DIVIDES[name]
        if conventions.get(name) == choice:
            raise RuleError(
                f"{entry.path}: {name}={choice} shards a sequence over {ranks} ranks, and one new token cannot be "
                f"sharded; remove {name}={choice}"
            )


@dataclass(frozen=True)
class Cached(Quantity):
    """A number of bytes that includes a cache.

    Attributes
    ----------
    cache_dtype : str
        The convention that names the format of the cache.
    model_dtype : str
        The convention whose dtype is taken as the model's.
    numbers : Mapping[Symbol, int]
        The sizes of the model that have a value. The rules of some engines depend on them.

    """

    of_run: ClassVar[bool] = False

    cache_dtype: str = "dtype"
    model_dtype: str = "dtype"
    numbers: Mapping[Symbol, int] = field(default_factory=dict)

    def at(self, source: SizeSource | None) -> Self:
        """Return the quantity at the sizes of a model."""
        if source is None or dict(source.known) == dict(self.numbers):
            return self
        return replace(self, numbers=source.known)

    def with_defaults(self, part: Countable, given: Mapping[str, str]) -> Mapping[str, str]:
        """Return the conventions that were set, and those that an engine uses for a part.

        Raises
        ------
        RuleError
            If the engine does not support the model.
        OptionError
            If the engine does not support a convention.

        """
        if (engine := engine_of(given)) is None:
            return given
        own = engine.defaults(_architecture(part), part.ledger)
        chosen = {**{name: value for name, value in own.items() if name in self.conventions}, **given}
        engine.check(_architecture(part), part.ledger, self.cache_dtype, self.choose(chosen))
        return chosen

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """Return the total of every entry, in equal pages and groups of layers if the engine has these."""
        return tally(ledger.root, self.terms_by(ledger, conventions))

    def terms_by(self, ledger: Ledger, conventions: Conventions) -> Callable[[Entry], tuple[Term, ...]]:
        """Return the rule that returns the terms of an entry."""
        if (plan := self._plan(ledger, conventions)) is None:
            return lambda entry: self.rules[entry.kind](entry, conventions)

        def terms(entry: Entry) -> tuple[Term, ...]:
            return plan.terms.get(id(entry)) or self.rules[entry.kind](entry, conventions)

        return terms

    def _plan(self, ledger: Ledger, conventions: Conventions) -> PagePlan | None:
        """Return the pages of a model in vLLM."""
        if conventions.get("engine") != "vllm":
            return None

        def terms(entry: Entry, block: str) -> tuple[Term, ...]:
            return self.rules[entry.kind](entry, {**conventions, "block": block})

        plan = PagePlan(
            ledger, terms, conventions.get("block", "off"), conventions["window"] == "reserved", self.numbers
        )
        if plan.mixed and conventions.get("pipeline", "off") != "off":
            raise RuleError(
                f"engine=vllm is not supported with pipeline={conventions['pipeline']} for models with "
                "several kinds of layers"
            )
        if plan.has_states and conventions.get("prefix") == "shared":
            raise RuleError(
                "prefix=shared is not supported with engine=vllm for a model with recurrent states; choose prefix=off"
            )
        return plan

    def totals_of(self, ledger: Ledger, conventions: Conventions) -> Relations:
        """Return the sizes that the terms name: the tokens of a page of an engine that enlarges its pages."""
        plan = self._plan(ledger, conventions)
        return {**super().totals_of(ledger, conventions), **(plan.totals if plan is not None else {})}

    def default_sizes(self, part: Countable, conventions: Conventions) -> Mapping[Symbol, int]:
        """Return the tokens of a step, if layers with a window depend on them and the engine has a default."""
        engine, own = engine_of(conventions), {}
        if engine and engine.step:
            ledger = part.for_quantity(self, conventions).ledger
            window = {**engine.defaults(_architecture(part), ledger), **conventions}.get("window")
            if window == "needed" and any(entry.window is not None for _, entry in ledger):
                own = {S_step: engine.step}
        return {**super().default_sizes(part, conventions), **own}

    def defining_sizes(self, conventions: Conventions) -> tuple[Symbol, ...]:
        """Return B and C, or only B if one more token is counted."""
        return (B,) if conventions.get("tokens") == "one" else (B, C)

    def notes_for(self, formula: Formula) -> list[str]:
        """Return the sentences that apply because of the operations in a formula, and those about an engine."""
        engine = engine_of(formula.conventions)
        if engine is None and formula.conventions.get("state", "fp32") == "fp32":
            return super().notes_for(formula)
        entries = [line.entry for _, line in formula.root.leaves() if line.entry]
        own = [note for matches, note in self.notes.items() if matches is reuses and any(map(matches, entries))]
        return [
            *own,
            *([engine.note(entries)] if engine else []),
        ]

    def conditions(self, ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
        """Return the conditions of a cache.

        W >= 2 if W is also the bytes per element of a convolution state or of tokens that are kept. C is at least the
        number of tokens of each group if entries overlap, because the last group is cached. The block of a format
        divides the elements that it runs over. A shared prefix has at most C tokens. Groups of layers hold for the
        numbers of layers in the conditions.
        """
        form = CACHE_FORMATS[conventions[self.cache_dtype]]
        packed = conventions["latent"] == "compressed"
        widths = {_block_width(entry, form, packed) for _, entry in ledger if form.block > 1 and _is_cached(entry)}
        remedy = f"{self.cache_dtype}={form.name} has blocks of {form.block} elements"
        blocks = tuple(Divides(Integer(form.block), width, remedy) for width in sorted(widths, key=str))
        groups = {entry.compressed for _, entry in ledger if compresses(entry) and entry.function == OVERLAPPING}
        whole = tuple(AtMost(group, C, NO_GROUP) for group in sorted(filter(None, groups), key=str))
        shared = (AtMost(C_pre, C, SHORT_PREFIX),) if conventions.get("prefix") == "shared" else ()
        plan = self._plan(ledger, conventions)
        return (*whole, *blocks, *shared, *(plan.conditions if plan else ()), *self._wide(ledger, conventions))

    def _wide(self, ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
        if conventions[self.model_dtype] != "symbolic" or conventions.get("tokens") == "one":
            return ()
        kept = {
            "a convolution state": keeps_places,
            "the input of a token shift": shifts,
            "a group of tokens": compresses,
        }
        return tuple(
            AtMost(Integer(2), W, f"{what} has the model's dtype; for a cache of 1 byte choose {self.model_dtype}=fp8")
            for what, keeps in kept.items()
            if any(keeps(entry) for _, entry in ledger)
        )


def _architecture(part: Countable) -> str:
    """Return the name of a model, or "" for a component."""
    return part.name if part.role == "model" else ""


def _is_cached(entry: Entry) -> bool:
    """Return whether an operation reads keys or values that are cached."""
    attends = entry.kind in (OperationKind.SCORES, OperationKind.MIX)
    return attends and not (entry.output.encoded or entry.recalled or entry.reused or entry.keyed or entry.window == 0)


def _block_width(entry: Entry, form: CacheFormat, compressed: bool) -> Expr:
    """Return the number of elements that the blocks of a format run over."""
    if entry.latent and compressed:
        latent, key = entry.latent
        return latent.width if form.packed else latent.width + key.width
    _, heads, _, width = (entry.share or entry.inputs[1]).shape
    return width if form.width == "head" else heads * width


@dataclass(frozen=True)
class FromPrompt(Quantity):
    """A quantity of a run that fills a cache from a prompt."""

    def conditions(self, ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
        """Return the condition that the prompt is at least as long as every causal kernel, so it is not padded."""
        kernels = {entry.weights[0].shape[2] for _, entry in ledger if entry.causal}
        because = "in that case transformers pads the prompt to the kernel size of the convolution"
        return tuple(AtMost(kernel, S, because) for kernel in sorted(kernels, key=str))


def prompt(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the terms of a contraction over the whole prompt. Raises RuleError if it cannot use a cache later."""
    cacheable(entry)
    return forward(entry, conventions)


def one_token(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the terms for one new token: S becomes 1, and attention reads the cached tokens and the new one.

    An encoder adds nothing, and neither do the keys and values that a decoder computes from its output.
    """
    cacheable(entry)
    check_unsharded(entry, conventions)
    if entry.kind is OperationKind.PRODUCT:
        per_token_product(entry, conventions)
    if entry.output.encoded:
        return ()
    one = {**conventions, "attention": "new"}
    length = C + 1 if entry.recalled else Integer(1)
    return tuple(
        replace(term, factors=tuple(factor.xreplace({S: length}) for factor in term.factors))
        for term in forward(entry, one)
    )
