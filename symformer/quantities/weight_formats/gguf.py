"""GGUF files: the type of every tensor of a model under a mixture, and its bytes."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sympy import Expr, Integer, Rational, Symbol

from ...formulas.account import Term
from ...language.errors import RuleError, alternatives, joined
from ...language.notation.text import text
from ...language.sizes import AtMost, Condition, Differs, Divides, Equals, NotMultiple, substitute
from ...language.symbols import LETTERS, A, G, L, L_better, X
from ...ledger.facts import ONE, ROTARY, Entry, Ledger, OperationKind
from ..rule_sets.linear_roles import Role, RoleTable
from .gguf_mixtures import MIXTURES, BetterLayers, GGUFMixture, GGUFTensor, TypeChoice, layers_with
from .gguf_types import BLOCKS, FALLBACKS
from .stored_matrix import StoredMatrix, WeightRole, stored_matrices

PREFIX = "gguf:"
FLOAT = Integer(4)
# Types of rotary scaling whose factors a GGUF file stores, and types whose tensors in the file are not known.
STORED_FACTORS, OTHER_FACTORS = ("llama3",), ("longrope", "su", "unknown")
# Architectures of which the sizes of published files were compared with these rules. Files of other models can hold
# further tensors, or tensors that the converter splits, joins or keeps in other types.
CONVERTED = frozenset(
    {"arcee", "gemma2", "gemma3", "gpt-oss", "llama", "ministral3", "mistral", "mixtral", "olmo2", "phi3", "qwen2"}
    | {"qwen3", "qwen3-moe", "seed-oss", "smollm3"}
)
# Architectures of which only files of some mixtures were compared. All files of gpt-oss keep the experts in MXFP4.
MIXTURES_OF = {"gpt-oss": frozenset({"mxfp4_moe"})}
EXPERT_LIMIT, HEAD_LIMIT, LARGE = 4, 4, 80  # experts, heads per key/value head, layers of LLaMA 70B


def mixture(name: str) -> GGUFMixture:
    """Return the mixture with a name, such as "q4_k_m". Raises KeyError if there is none."""
    return MIXTURES[name]


class GGUFPlan:
    """The types of all tensors of a model.

    Parameters
    ----------
    ledger : Ledger
        The operations of the model.
    name : str
        The mixture, such as "q4_k_m".
    numbers : Mapping[Symbol, int]
        The sizes that have a value. They decide rules that depend on numbers, such as types for widths that are not a
        multiple of a block; the conditions state the decisions.
    rope : str
        The type of scaling of the rotary frequencies.
    better : Collection[BetterLayers], optional
        The rules that give one layer its better types. The terms of repeated layers then describe that layer;
        without it, they are averages over all layers.

    Raises
    ------
    RuleError
        If the tensors of the model in a GGUF file are not known, or a rule needs a size without a value.

    """

    def __init__(
        self,
        ledger: Ledger,
        name: str,
        numbers: Mapping[Symbol, int],
        rope: str = "",
        better: Collection[BetterLayers] | None = None,
    ) -> None:
        self.name = name
        self.better = better
        self.mixture = mixture(name)
        self.numbers = numbers
        self.conditions: dict[str, Condition] = {}
        self._check(ledger)
        self._roles = RoleTable(ledger)
        self._counts = {id(entry): count for count, entry in ledger}
        self._has_kinds = any(scope.mixture for scope in ledger.root.walk())
        self._sizes = ledger.sizes
        self._has_experts = any(entry.kind is OperationKind.EXPERTS for _, entry in ledger)
        self._tied = self._roles.tables
        self._headless = not any(entry.logits for _, entry in ledger)
        self._attention = self._attention_matrices(ledger)
        self.totals: dict[Symbol, Expr] = {}
        self.terms: dict[int, list[Term]] = {}
        for matrix in stored_matrices(ledger):
            self.terms.setdefault(id(matrix.entry), []).extend(self._terms(matrix))
        if rope in STORED_FACTORS:
            self._store_factors(ledger)
        elif rope in OTHER_FACTORS:
            raise RuleError(f"weights={PREFIX}{name} is not supported for rotary scaling of type {rope}")

    def _store_factors(self, ledger: Ledger) -> None:
        """Add the factor of each rotary frequency, which llama.cpp's converter stores for Llama 3.1 and later."""
        for _, entry in ledger:
            if entry.kind is OperationKind.POSITIONS and entry.function in ROTARY:
                factors = (entry.output.width / 2, FLOAT)
                self.terms.setdefault(id(entry), []).append(Term("rope_freqs.weight (F32)", factors, purpose="weights"))

    def _check(self, ledger: Ledger) -> None:
        name = ledger.root.part.name
        if name in CONVERTED:
            mixtures = MIXTURES_OF.get(name, frozenset({self.name}))
            if self.name in mixtures:
                return
            others = joined(PREFIX + each for each in sorted(mixtures))
            choices = alternatives(f"weights={PREFIX}{each}" for each in sorted(mixtures))
            raise RuleError(
                f"weights={PREFIX}{self.name} is not supported for {name}, of which only files of type {others} were "
                f"compared; choose {choices}"
            )
        known = ", ".join(sorted(CONVERTED))
        raise RuleError(
            f"weights={PREFIX}{self.name} is not supported for {name}: the tensors of its GGUF files were not compared "
            f"with its weights; it is supported for {known}"
        )

    def _attention_matrices(self, ledger: Ledger) -> Mapping[int, GGUFTensor]:
        found: dict[int, GGUFTensor] = {}
        for _, entry in ledger:
            if entry.kind is OperationKind.SCORES:
                query, key = entry.inputs[0], entry.inputs[1]
                found |= {id(each): GGUFTensor.ATTN_Q for each in self._roles.producers(query)}
                found |= {id(each): GGUFTensor.ATTN_K for each in self._roles.producers(key)}
        for _, entry in ledger:
            if entry.kind is OperationKind.MIX:
                for each in self._roles.producers(entry.inputs[1]):
                    is_fused = found.get(id(each)) in (GGUFTensor.ATTN_K, GGUFTensor.ATTN_QKV)
                    found[id(each)] = GGUFTensor.ATTN_QKV if is_fused else GGUFTensor.ATTN_V
        return found

    def _tensor(self, matrix: StoredMatrix) -> GGUFTensor:
        """Return the name of a matrix in a GGUF file."""
        entry = matrix.entry
        if matrix.role is WeightRole.HEAD:
            return GGUFTensor.OUTPUT
        if matrix.role is WeightRole.TOKENS:
            return GGUFTensor.OUTPUT if self._headless or matrix.weight in self._tied else GGUFTensor.TOKEN_EMBD
        if id(entry) in self._attention:
            return self._attention[id(entry)]
        if entry.kind is OperationKind.LINEAR and self._roles.role(entry) is Role.OUTPUT:
            return GGUFTensor.ATTN_OUTPUT
        if any(each.kind in (OperationKind.EXPERTS, OperationKind.LINEAR) for each in self._before(entry)):
            return GGUFTensor.FFN_DOWN
        return GGUFTensor.FFN_UP

    def _before(self, entry: Entry) -> list[Entry]:
        return [each for each in self._roles.producers(entry.inputs[0]) if not each.logits]

    def _terms(self, matrix: StoredMatrix) -> list[Term]:
        if matrix.role in (WeightRole.VECTOR, WeightRole.ROUTER, WeightRole.TABLE):
            return [self._term(matrix, "f32", ONE)]
        if matrix.role not in (WeightRole.LINEAR, WeightRole.EXPERT, WeightRole.HEAD, WeightRole.TOKENS):
            raise RuleError(f"{matrix.weight.path}: weights={PREFIX}{self.name} is not supported for a {matrix.role}")
        choice = self._choice(matrix, self._tensor(matrix))
        base = self.mixture.base
        if choice.layers is None:
            return [self._term(matrix, choice.better or base, ONE)]
        layers = self._layers(matrix.entry)
        if self.better is not None:
            has_better = choice.layers in self.better
            return [self._term(matrix, choice.better if has_better else choice.other or base, ONE)]
        better = self._named(choice.layers, layers_with(choice.layers, layers))
        return [
            self._term(matrix, choice.better, better / layers),
            self._term(matrix, choice.other or base, 1 - better / layers),
        ]

    def _named(self, which: BetterLayers, count: Expr) -> Expr:
        """Return a number of layers, by a letter of its own if it is a long expression."""
        if which is not BetterLayers.MORE or count.is_number:
            return count
        return L_better if self.totals.setdefault(L_better, count) == count else count

    def _layers(self, entry: Entry) -> Expr:
        count = self._counts[id(entry)]
        if self._has_kinds:
            raise RuleError(
                f"{entry.path}: weights={PREFIX}{self.name} has better types in some layers, and how many of each kind "
                "of layers these are is not known"
            )
        if not (count.is_Symbol or count.is_Integer or count.is_Add):
            raise RuleError(f"{entry.path}: weights={PREFIX}{self.name} depends on which layers have this weight")
        return count

    def _choice(self, matrix: StoredMatrix, tensor: GGUFTensor) -> TypeChoice:
        rules, base = self.mixture, self.mixture.base
        if tensor is GGUFTensor.OUTPUT:
            fits = self._fits(matrix, base) and self._roles.name != "falcon"
            return TypeChoice(rules.output if fits else "q8_0")
        if matrix.role is WeightRole.EXPERT and GGUFTensor.EXPERTS in rules.choices:
            return rules.choices[GGUFTensor.EXPERTS]
        found = rules.choices.get(tensor, TypeChoice(base))
        if tensor in rules.shared_heads and self._has_shared_heads():
            found = rules.shared_heads[tensor]
        if tensor is GGUFTensor.ATTN_V and not rules.low_bits and self._is_large():
            found = _raised(found, base)
        if self._has_eight_experts():
            if tensor in (GGUFTensor.ATTN_K, GGUFTensor.ATTN_V) and BLOCKS[base][0] > 1:
                found = TypeChoice("q8_0") if not rules.low_bits else TypeChoice("q4_k")
            if tensor is GGUFTensor.ATTN_OUTPUT:
                found = TypeChoice(rules.eight_experts)
            if tensor is GGUFTensor.FFN_DOWN and rules.eight_down:
                found = rules.eight_down
        return found

    def _has_shared_heads(self) -> bool:
        if self.mixture.low_bits and self._has_experts:
            many = self._number(X) >= EXPERT_LIMIT
            self._state(AtMost(Integer(EXPERT_LIMIT), X) if many else AtMost(X, Integer(EXPERT_LIMIT - 1)))
            if many:
                return True
        if G not in self._sizes:  # as many key/value heads as query heads
            return False
        many = self._number(A) // self._number(G) >= HEAD_LIMIT
        self._state(AtMost(HEAD_LIMIT * G, A) if many else AtMost(A + 1, HEAD_LIMIT * G))
        return many

    def _is_large(self) -> bool:
        """Return whether the rules for LLaMA 70B apply: 80 layers, with shared key/value heads."""
        if self._equals(L, LARGE, "llama-quantize has other rules for 80 layers"):
            return self.numbers.get(A) != self.numbers.get(G, self.numbers.get(A))
        return False

    def _has_eight_experts(self) -> bool:
        """Return whether the rules for Mixtral apply."""
        return self._has_experts and self._equals(X, 8, "llama-quantize has other rules for 8 experts")

    def _equals(self, size: Symbol, number: int, because: str) -> bool:
        """Return whether a size has a value, and state the answer as a condition."""
        same = self.numbers.get(size) == number
        self._state((Equals if same else Differs)(size, Integer(number), because))
        return same

    def _number(self, size: Symbol) -> int:
        if size not in self.numbers:
            raise RuleError(
                f"weights={PREFIX}{self.name} depends on {size} ({LETTERS[size.name].meaning}), which has no value; "
                f"set {size} or name a preset"
            )
        return self.numbers[size]

    def _state(self, condition: Condition) -> None:
        self.conditions.setdefault(str(condition), condition)

    def _fits(self, matrix: StoredMatrix, type_: str) -> bool:
        """Return whether the block of a type divides the width of a matrix, and state it as a condition."""
        block = BLOCKS[type_][0]
        if block == 1:
            return True
        width = substitute(matrix.cols, self.numbers)
        fits = not width.is_number or bool((width / block).is_integer)
        remedy = f"another type of weights={PREFIX}{self.name} is stored for {matrix.weight.path} at this width"
        self._state((Divides if fits else NotMultiple)(Integer(block), matrix.cols, remedy))
        return fits

    def _term(self, matrix: StoredMatrix, type_: str, share: Expr) -> Term:
        if not self._fits(matrix, type_):
            if type_ not in FALLBACKS:
                block = BLOCKS[type_][0]
                raise RuleError(
                    f"{matrix.weight.path}: {type_.upper()} has blocks of {block} elements, which do not divide the "
                    f"width {text(matrix.cols)} = {substitute(matrix.cols, self.numbers)}; choose another type"
                )
            type_ = FALLBACKS[type_] if self._fits(matrix, FALLBACKS[type_]) else "f16"
        block, size = BLOCKS[type_]
        shares = () if share == 1 else (share,)
        label = f"{matrix.weight.path} ({type_.upper()})"
        factors = (matrix.copies, matrix.rows, matrix.cols, Rational(size, block), *shares)
        return Term(label, tuple(each for each in factors if each != 1), purpose="weights", weight=matrix.weight.path)


def _raised(choice: TypeChoice, base: str) -> TypeChoice:
    """Return the choice for the values of a 70B model: Q3_K and Q4_K become Q5_K."""

    def up(type_: str) -> str:
        return "q5_k" if (type_ or base) in ("q3_k", "q4_k") else type_

    return TypeChoice(up(choice.better), choice.layers, up(choice.other))
