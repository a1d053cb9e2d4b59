"""What generation needs: attention that looks back only, or to an encoder, so that keys and values can be kept."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Expr, Integer, Min, Symbol

from ..formulas.account import Term
from ..language.errors import RuleError
from ..language.sizes import AtMost, Condition
from ..language.symbols import B, C, S, W
from ..ledger.facts import INDEXED, Entry, Kind, Ledger
from .contractions import forward
from .elementwise import seen
from .quantity import Convention, Conventions, Quantity

SIZES: dict[str, Expr] = {"bf16": Integer(2), "fp16": Integer(2), "fp32": Integer(4), "fp8": Integer(1), "symbolic": W}
CACHE = "cache"  # what of the whole is kept of earlier tokens
DTYPE = {
    "bf16": "2 bytes an element",
    "fp16": "2 bytes an element",
    "fp32": "4 bytes an element",
    "fp8": "1 byte an element",
    "symbolic": "W bytes an element",
}
WINDOW = Convention(
    {
        "needed": "under a sliding window the tokens that the next one sees beside itself, as transformers keeps",
        "rolling": "under a sliding window a buffer of its length, Jiang et al. 2023 [jiang2023], section 2",
        "reserved": "all C tokens in every layer, whatever its window",
    },
    lambda entry: entry.window is not None,
)

LATENT = Convention(
    {
        "compressed": "of latent attention the latent and the rotary key, as transformers keeps",
        "expanded": "of latent attention the keys and the values of every head",
    },
    lambda entry: bool(entry.latent),
)

STATE_BYTES = (
    "The recurrent state is stored in single precision, 4 bytes per element, whatever the other dtypes, as in "
    "transformers."
)
CONVOLUTION_BYTES = (
    "The convolution state has the model's dtype, as in transformers: the dtype of {of}, or 2 bytes per element if "
    "that dtype is fp8, because no model computes in fp8."
)

DIVIDES = {"context": ("on", "N_cp"), "tensor": ("sequence", "N_tp")}  # what divides a sequence, and among which ranks


def tokens(entry: Entry, window: str) -> Expr:
    """How many of C earlier tokens an attention keeps."""
    if entry.window is None or window == "reserved":
        return C
    if entry.chunked and window == "rolling":
        raise RuleError(f"{entry.path}: window=rolling is known for sliding windows; this layer attends within chunks")
    return Min(C, entry.window) if window == "rolling" else seen(entry) - 1


def keys_and_values(entry: Entry, size: Expr, conventions: Conventions) -> list[Term]:
    """What attention keeps of C tokens: the keys [B,G,C,D] that the scores read, or the values that the mix reads.

    What a decoder attends to of an encoder it keeps whole. Where ranks divide the sequence, each keeps its share.
    """
    cacheable(entry)
    if entry.output.encoded or entry.recalled:  # an encoder's own attention runs once; such keys are made again
        return []
    if conventions.get("tokens") == "one":
        alone(entry, conventions, ("context",))
        read = {S: Integer(1)}
    else:
        read = {S: tokens(entry, conventions["window"])}
    if entry.latent and conventions["latent"] == "compressed":  # once, for the keys and the values that it gives
        latent = entry.latent if entry.kind is Kind.SCORES else ()
        return [
            Term(f"{x.name} (latent)", (*(dim.xreplace(read) for dim in x.shape), size), purpose=CACHE) for x in latent
        ]
    own = entry.share or entry.inputs[1]
    if own.encoded and conventions.get("tokens") == "one":  # one token more is none of the encoder's
        return []
    batch, heads, length, width = own.shape
    what = "keys" if entry.kind is Kind.SCORES else "values"
    return [Term(f"{entry.path} ({what})", (batch, heads, length.xreplace(read), width, size), purpose=CACHE)]


def keeps_places(entry: Entry) -> bool:
    """Return whether an operation is a convolution with a state: a causal one, outside any encoder."""
    return entry.kind is Kind.CONVOLUTION and entry.causal and not entry.output.encoded


def scans(entry: Entry) -> bool:
    """Return whether an operation carries a recurrent state."""
    return entry.kind is Kind.SCAN


def convolved(entry: Entry, dtype: str, conventions: Conventions) -> list[Term]:
    """Return the bytes of a convolution state [B,E,k], with one place per kernel position, as in transformers.

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
    if entry.output.encoded or conventions.get("tokens") == "one":  # of an encoder nothing is read again
        return []
    batch, channels, _ = entry.inputs[0].shape
    size = SIZES["bf16" if dtype == "fp8" else dtype]
    return [Term(f"{entry.path} (places)", (batch, channels, *entry.weights[0].shape[2:], size), purpose=CACHE)]


def state(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """The state [B,A,D,N] that a scan carries, however many tokens it has read: in single precision, as in
    transformers, whatever the precision of the model.
    """
    if conventions.get("tokens") == "one":
        return ()
    x, _, write, _ = entry.inputs
    batch, heads, _, width = x.shape
    factors = (batch, heads, *([width] if width != 1 else []), write.width, SIZES["fp32"])
    return (Term(f"{entry.path} (state)", factors, purpose=CACHE),)


def apart(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Nothing, of a product of each token by itself. Raises RuleError for one in which tokens meet."""
    summed = entry.inputs[0].width
    places = [axis for axis in entry.output.shape if axis.has(S)]
    if len(places) > 1 or summed.has(S) or any(axis.diff(S, 2) != 0 for axis in places):
        raise RuleError(f"{entry.path}: what a cache keeps of earlier tokens for this product is not known")
    return ()


def cacheable(entry: Entry) -> None:
    """Raise RuleError for an operation whose earlier tokens a cache cannot stand for."""
    if entry.kind is Kind.SELECT and entry.function == INDEXED:
        raise RuleError(f"{entry.path}: what stands at the end of a text is wanted, and no token is generated after it")
    if entry.kind is Kind.CONVOLUTION and not (entry.causal or entry.output.encoded):
        raise RuleError(f"{entry.path}: what a cache keeps of the places that a convolution reads again is not stated")
    if entry.kind in (Kind.SCORES, Kind.MIX) and entry.mask != "causal" and not entry.inputs[1].encoded:
        raise RuleError(
            f"{entry.path}: this attention is not causal, so no cache of earlier tokens stands for its keys and values"
        )


def alone(entry: Entry, conventions: Conventions, divides: tuple[str, ...] = tuple(DIVIDES)) -> None:
    """Raise RuleError where ranks divide the sequence, and what is asked for is of one new token."""
    for name in divides:
        choice, ranks = DIVIDES[name]
        if conventions.get(name) == choice:
            raise RuleError(
                f"{entry.path}: {name}={choice} divides a sequence among {ranks} ranks, and one new token cannot be "
                f"divided; without {name}={choice} this is known"
            )


def pooled(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Of one position of each sequence nothing is kept. Raises RuleError where that is the last."""
    cacheable(entry)
    return ()


@dataclass(frozen=True)
class Cached(Quantity):
    """A number of bytes that includes a cache.

    Attributes
    ----------
    model_dtype : str
        The convention whose dtype is taken as the model's.

    """

    model_dtype: str = "dtype"

    def defining(self, conventions: Conventions) -> tuple[Symbol, ...]:
        """Return B and C, or only B if one more token is counted."""
        return (B,) if conventions.get("tokens") == "one" else (B, C)

    def conditions(self, ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
        """Return the condition W >= 2 if W is also the bytes per element of a convolution state."""
        symbolic = conventions[self.model_dtype] == "symbolic" and conventions.get("tokens") != "one"
        if not symbolic or not any(keeps_places(entry) for _, entry in ledger):
            return ()
        because = f"a convolution state has the model's dtype; for a cache of 1 byte choose {self.model_dtype}=fp8"
        return (AtMost(Integer(2), W, because),)


@dataclass(frozen=True)
class FromPrompt(Quantity):
    """A quantity of a run that fills a cache from a prompt."""

    def conditions(self, ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
        """A prompt that is shorter than a kernel that looks back is padded to it before it is kept."""
        kernels = {entry.weights[0].shape[2] for _, entry in ledger if entry.causal}
        because = "transformers then pads the prompt to the places of the convolution"
        return tuple(AtMost(kernel, S, because) for kernel in sorted(kernels, key=str))


def prompt(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """A contraction over the whole prompt."""
    cacheable(entry)
    return forward(entry, conventions)


def one_token(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """What is left for one new token: S becomes 1, and attention reads what is cached of C tokens and the new one.

    Of an encoder nothing is left, nor of the keys and values that a decoder makes of its output.
    """
    cacheable(entry)
    alone(entry, conventions)
    if entry.kind is Kind.PRODUCT:
        apart(entry, conventions)
    if entry.output.encoded:
        return ()
    one = {**conventions, "attention": "new"}
    length = C + 1 if entry.recalled else Integer(1)
    return tuple(
        replace(term, factors=tuple(factor.xreplace({S: length}) for factor in term.factors))
        for term in forward(entry, one)
    )
