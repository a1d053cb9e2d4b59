"""The pages of vLLM for models with several kinds of layers: pages of equal size, and groups of equal size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from sympy import Add, Expr, Integer, Symbol, cancel, ceiling

from ..formulas.account import Term
from ..language.errors import RuleError
from ..language.notation.text import text
from ..language.sizes import AtMost, Condition, Divides
from ..language.symbols import LETTERS, B, C, S_page
from ..ledger.facts import ATTENDING, CARRYING, Entry, Ledger, OperationKind

LATENT_UNIT = 128  # the tokens of a page of latents are a multiple of this in a model with recurrent states
STATES = (*CARRYING, OperationKind.CONVOLUTION)
Terms = Mapping[int, tuple[Term, ...]]  # id of an entry -> its terms


@dataclass
class _Layers:
    """The layers of one list that have the same kind of cache.

    Attributes
    ----------
    kind : str
        The kind of cache: full, window, chunk, cross or state. vLLM groups layers of one kind.
    count : Expr
        The number of layers.
    entries : list[Entry]
        The operations of a layer with a cache.

    """

    kind: str
    count: Expr
    entries: list[Entry] = field(default_factory=list)


class PagePlan:
    """The terms of a model in vLLM, given the terms of each operation on its own.

    A state page and an attention page have the same number of bytes: attention pages are enlarged, and the rest of a
    state page is padding. Layers are grouped by kind into groups of equal size, with padding layers in incomplete
    groups.

    Parameters
    ----------
    ledger : Ledger
        The operations of the model.
    terms_of : Callable[[Entry, str], tuple[Term, ...]]
        The bytes in the cache of an operation, with pages of this many tokens.
    block : str
        The tokens per page.
    reserved : bool
        Whether layers with a window hold all tokens.
    numbers : Mapping[Symbol, int]
        The sizes that have a value. They decide how many layers a group has.

    Raises
    ------
    RuleError
        If layers have different pages, or if the numbers of layers have no value.

    """

    def __init__(
        self,
        ledger: Ledger,
        terms_of: Callable[[Entry, str], tuple[Term, ...]],
        block: str,
        reserved: bool,
        numbers: Mapping[Symbol, int],
    ) -> None:
        self.numbers = numbers
        self.conditions: list[Condition] = []
        self.totals: dict[Symbol, Expr] = {}  # the tokens of a page, if they follow from the bytes of a state
        layers = _layers(ledger, lambda entry: terms_of(entry, block), reserved)
        kinds = {each.kind for each in layers}
        self.mixed, self.has_states = len(kinds) > 1, "state" in kinds
        self.terms: dict[int, tuple[Term, ...]] = {}
        for each in layers:
            for entry in each.entries:
                self.terms[id(entry)] = terms_of(entry, "off" if self.has_states else block)
        if self.has_states and self.mixed:
            self._equalize_pages(layers, int(block))
        elif self.mixed:
            self._enlarge_pages(layers, lambda entry, times: terms_of(entry, str(times * int(block))))
        if self.mixed:
            self._pad_groups(layers)

    def _bytes(self, layers: _Layers) -> Expr:
        return Add(*(term.expr for entry in layers.entries for term in self.terms[id(entry)]))

    def _equalize_pages(self, layers: list[_Layers], block: int) -> None:
        """Enlarge the attention pages to the size of a state, and pad the state pages."""
        attending, states = [
            [each for each in layers if (each.kind == "state") is is_state] for is_state in (False, True)
        ]
        if {each.kind for each in attending} != {"full"}:
            raise RuleError("engine=vllm is not supported for a model with both recurrent states and sliding windows")
        unit = max(block, LATENT_UNIT) if any(entry.latent for each in attending for entry in each.entries) else block
        token = self._same("tokens", [cancel(self._bytes(each) / (B * C)) for each in attending])
        state = self._same("states", [cancel(self._bytes(each) / B) for each in states])
        self.totals[S_page] = unit * ceiling(state / (unit * token))
        tokens = S_page
        for each in attending:
            for entry in each.entries:
                self.terms[id(entry)] = tuple(_enlarged(term, tokens) for term in self.terms[id(entry)])
        for each in states:
            last = each.entries[-1]
            padding = Term(f"{last.path} (page padding)", (B, tokens * token - state), purpose="recurrent state")
            self.terms[id(last)] = (*self.terms[id(last)], padding)

    def _enlarge_pages(self, layers: list[_Layers], terms_of: Callable[[Entry, int], tuple[Term, ...]]) -> None:
        """Give layers with smaller tokens pages with proportionally more tokens."""
        tokens = [
            Add(*(_of_one_token(term) for entry in each.entries for term in self.terms[id(entry)])) for each in layers
        ]
        if all(cancel(tokens[0] - other) == 0 for other in tokens):
            return
        numbers = [self._number(each) for each in tokens]
        most = max(numbers)
        largest = tokens[numbers.index(most)]
        for each, token, number in zip(layers, tokens, numbers, strict=True):
            times, rest = divmod(most, number)
            if rest:
                raise RuleError(
                    f"engine=vllm is not supported for layers with {number:,} and {most:,} bytes per token, because "
                    "the larger number is not a multiple of the smaller"
                )
            if cancel(largest - times * token) != 0:  # holds for these sizes
                self.conditions += [Divides(times * token, largest), Divides(largest, times * token)]
            for entry in each.entries:
                self.terms[id(entry)] = terms_of(entry, times)

    def _same(self, what: str, sizes: Iterable[Expr]) -> Expr:
        first, *others = sizes
        if any(cancel(first - other) != 0 for other in others):
            raise RuleError(f"engine=vllm is not supported for layers whose {what} differ in size in the cache")
        return first

    def _pad_groups(self, layers: list[_Layers]) -> None:
        """Count the padding layers in the groups of each kind."""
        counts: dict[str, Expr] = {}
        for each in layers:
            counts[each.kind] = counts.get(each.kind, Integer(0)) + each.count
        if len(set(counts.values())) == 1:
            return
        known = {kind: self._number(count) for kind, count in counts.items()}
        least, most = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
        fewest, largest = counts[least], counts[most]
        if all(number % known[least] == 0 for number in known.values()):
            self.conditions += [Divides(fewest, count) for count in counts.values() if count != fewest]
            return
        if 2 * known[most] < 3 * known[least]:  # vLLM then pads every kind to the most layers
            self.conditions.append(AtMost(2 * largest + 1, 3 * fewest))
            self.conditions += [AtMost(count, largest) for count in counts.values() if count != largest]
            padded = {kind: largest - count for kind, count in counts.items()}
        else:
            self.conditions.append(AtMost(3 * fewest, 2 * largest))
            self.conditions += [AtMost(fewest, count) for count in counts.values() if count != fewest]
            padded = {kind: fewest * ceiling(count / fewest) - count for kind, count in counts.items()}
        for kind, extra in padded.items():
            if extra != 0:
                own = next(each for each in layers if each.kind == kind)
                last = own.entries[-1]
                label = f"{last.path} (padding layers)"
                more = Term(label, (extra / own.count, self._bytes(own)), purpose="cache")
                self.terms[id(last)] = (*self.terms[id(last)], more)

    def _number(self, count: Expr) -> int:
        if missing := sorted(map(str, count.free_symbols - self.numbers.keys())):
            size = missing[0]
            meaning = LETTERS[size].meaning if size in LETTERS else "layers"
            raise RuleError(
                f"engine=vllm depends on {size} ({meaning}), which has no value; set {size} or name a preset"
            )
        return int(count.xreplace({size: Integer(self.numbers[size]) for size in count.free_symbols}))


def _layers(ledger: Ledger, terms_of: Callable[[Entry], tuple[Term, ...]], reserved: bool) -> list[_Layers]:
    found: dict[tuple[str, str, Expr], _Layers] = {}
    for count, entry in ledger:
        if entry.kind not in (*ATTENDING, *STATES) or not terms_of(entry):
            continue
        kind = _kind(entry, reserved)
        place = entry.path.rpartition("*")[0]
        found.setdefault((place, kind, count), _Layers(kind, count)).entries.append(entry)
    return list(found.values())


def _kind(entry: Entry, reserved: bool) -> str:
    if entry.kind in STATES:
        return "state"
    if entry.inputs[1].encoded:
        return "cross"
    if entry.window is None or reserved:
        return "full"
    return f"chunk {text(entry.window)}" if entry.chunked else f"window {text(entry.window)}"


def _enlarged(term: Term, tokens: Expr) -> Term:
    """Return the term with the tokens of a sequence in pages of this many tokens."""
    paged_tokens = tokens * ceiling(C / tokens)
    return Term(
        term.label, tuple(paged_tokens if factor == C else factor for factor in term.factors), purpose=term.purpose
    )


def _of_one_token(term: Term) -> Expr:
    """Return the bytes of a token: every factor but those with tokens of a run."""
    return Term("", tuple(each for each in term.factors if not each.has(ceiling, B, C))).expr
