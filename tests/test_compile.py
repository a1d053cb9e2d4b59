"""Compiled formulas agree with Python's integers at every row, for every array library, also beyond 64 bits."""

from __future__ import annotations

import pickle
import random
from typing import Any

import dask.array as da
import numpy as np
import pytest
import torch

import symformer as sf
from symformer import architectures
from symformer.formulas.compiled_formula import Compiled
from symformer.formulas.formula import Formula
from symformer.language.errors import SymformerError
from symformer.language.notation.text import code as spelt

from .samples import sampled

QUANTITIES = ("params", "active-params", "flops", "prefill-flops", "decode-flops", "activations", "kv-cache", "traffic")


def python(formula: Formula) -> Any:
    """Return the printed formula as a function of Python's integers, parsed by Python."""
    names = list(map(str, formula.symbols))
    code = compile(spelt(formula.expanded), "formula", "eval")
    return lambda *numbers: eval(code, {"__builtins__": {}}, dict(zip(names, numbers, strict=True)))  # noqa: S307


def drawn(formula: Formula, source: random.Random, most: int) -> dict[str, int]:
    return {
        str(size): source.randint(1, most)
        for size in sorted(formula.accepted_sizes, key=str)
        if size not in formula.relations
    }


@pytest.mark.parametrize("name", sampled(3, architectures.names()))
def test_compiled_formulas_equal_value_for_every_architecture(name: str) -> None:
    """At small sizes, many of which violate a condition, the mask and the values agree with value()."""
    source = random.Random(name)  # noqa: S311
    model, compared, refused = sf.architecture(name), 0, 0
    for quantity in source.sample(QUANTITIES, 3):
        try:
            formula = model.formula(quantity)
        except SymformerError:
            continue
        compiled = formula.compile()
        rows = [drawn(formula, source, 6 if turn % 2 else 40) for turn in range(8)]
        columns = {size: np.array([row[size] for row in rows]) for size in rows[0]}
        values, holds = compiled.evaluate_with_mask(**columns)
        for place, row in enumerate(rows):
            try:
                expected = formula.value(row)
            except SymformerError:
                refused += 1
                assert not holds[place], (quantity, row)
                with pytest.raises(SymformerError):
                    compiled(**row)
            else:
                compared += 1
                assert holds[place], (quantity, row)
                assert (values[place], compiled(**row)) == (expected, expected), (quantity, row)
    assert compared + refused >= 8


def test_conditions_hold_at_some_rows_only() -> None:
    """The rows of the test above contain both valid and invalid ones."""
    formula = sf.model("llama").params
    source = random.Random(5)  # noqa: S311
    rows = [drawn(formula, source, 6) for _ in range(100)]
    _, holds = formula.compile().evaluate_with_mask(**{name: np.array([row[name] for row in rows]) for name in rows[0]})
    assert 10 < holds.sum() < 60  # G divides A in 14 of 36 pairs, and 2 divides D in half of the rows: about a fifth


@pytest.mark.parametrize(("target", "quantity"), [("gpt2", "params"), ("llama", "params"), ("deepseek-v3", "kv-cache")])
@pytest.mark.parametrize(("most", "kind"), [(6_000, "int64"), (10**15, "object")])
def test_random_rows_equal_python_integers(target: str, quantity: str, most: int, kind: str) -> None:
    model = sf.model(target)
    formula = model.formula(quantity)
    source = np.random.default_rng(7)
    columns = {str(size): source.integers(1, most // 4, 100_000) for size in formula.symbols}
    for even in {"D", "D_rope"} & columns.keys():
        columns[even] *= 2
    more = {"A": 1} if target == "gpt2" else {"G": 1} if target == "llama" else {}
    columns = {name: column for name, column in columns.items() if name not in more}
    found = formula.compile()(**columns, **more)
    assert str(found.dtype) == kind
    whole = {**columns, **{name: np.full(100_000, number) for name, number in more.items()}}
    expected = list(map(python(formula), *(whole[str(size)].tolist() for size in formula.symbols)))
    assert found.tolist() == expected
    assert (max(expected) >= 2**63) == (kind == "object")


def test_grid_is_broadcast_with_the_dtype_of_the_largest_value() -> None:
    compiled = sf.model("gpt2").params.partial(P=1024, V=50257).compile()
    wide, deep = np.arange(12, 12_001, 12), np.arange(1, 101)
    found = compiled(E=wide[:, None], L=deep)
    assert (found.shape, str(found.dtype)) == ((1000, 100), "int64")
    assert found[63, 11] == 124_439_808  # E = 12*64 = 768, L = 12: GPT-2
    # 12LE² alone is 12*10**7*(12*10**7)**2 = 1.7*10**24, beyond 2**63 = 9.2*10**18
    assert compiled(E=np.array([12, 12 * 10**7]), L=10**7)[1] == (
        12 * 10**7 * (12 * 10**7) ** 2 + 13 * 10**7 * 12 * 10**7 + (50_257 + 1_024 + 2) * 12 * 10**7
    )


def test_values_around_the_64_bit_limit() -> None:
    """For 2EH + E + H at E = 10**9, the largest H below 2**63 = 9,223,372,036,854,775,808, and the next."""
    compiled = sf.model("component:mlp").params.compile()
    width = 10**9
    hidden = (2**63 - 1 - width) // (2 * width + 1)
    found = compiled(E=np.array([width]), H=np.array([hidden]))
    assert found.dtype == np.int64
    assert found.tolist() == [2 * width * hidden + width + hidden]
    beyond = compiled(E=np.array([width]), H=np.array([hidden + 1]))
    assert (str(beyond.dtype), beyond.tolist()) == ("object", [2 * width * (hidden + 1) + width + hidden + 1])
    assert beyond[0] > 2**63


def test_narrow_and_unsigned_arrays_do_not_overflow() -> None:
    compiled = sf.model("component:mlp").params.compile()
    for kind in (np.int8, np.uint8, np.int32, np.uint64):
        assert compiled(E=np.array([100], kind), H=np.array([120], kind)).tolist() == [2 * 100 * 120 + 220]


def test_floor_ceiling_min_and_max() -> None:
    """User-defined relations with ceil(V/64), min and max: a padded V, and bounds."""
    formula = sf.model("gpt2").params.partial(V="64*ceil(V_type/64)", P="max(E, 2*L)", L="min(K, X//3)")
    compiled = formula.compile()
    names = ("E", "V_type", "K", "X")
    source = np.random.default_rng(3)
    columns = {name: source.integers(1, 200, 500) for name in names}
    values, holds = compiled.evaluate_with_mask(**columns)
    for place in range(500):
        e, v, k, x = (int(columns[name][place]) for name in names)
        layers = min(k, x // 3)
        assert holds[place] == (layers > 0 and e % 12 == 0)  # GPT-2's 12 heads
        if layers:
            positions = max(e, 2 * layers)
            assert values[place] == 12 * layers * e * e + 13 * layers * e + (-(-v // 64) * 64 + positions + 2) * e


def test_division_by_zero_refuses_the_row() -> None:
    formula = sf.model("component:mlp").params.partial(H="12//(E - 3)")
    values, holds = formula.compile().evaluate_with_mask(E=np.array([1, 3, 4, 5, 20]))
    assert holds.tolist() == [False, False, True, True, False]  # -6, none, 12, 6, 0
    assert values[2:4].tolist() == [2 * 4 * 12 + 16, 2 * 5 * 6 + 11]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"E": 7.5}, "E is 7.5, which is not an integer"),
        ({"E": True}, "E is True, which is not an integer"),
        ({"E": "768"}, "E is '768', which is not an integer"),
        ({"E": np.array([1.0])}, "E is an array of float64; sizes are integers"),
        ({"E": np.array([True])}, "E is an array of bool; sizes are integers"),
        ({"E": np.array(["1"], object)}, "E is an array of objects that are not all integers; sizes are integers"),
        ({"E": np.array([3, 0])}, "one of E is 0; a size is an integer from 1 to 1,000,000,000,000,000"),
        ({"E": np.array([3, -1])}, "one of E is -1; a size is an integer from 1 to 1,000,000,000,000,000"),
        ({"Q": 3}, "unknown size 'Q' of gpt2.params; known: A, E, H, L, P, V"),
        ({"A": np.array([3, 5])}, "gpt2.params does not hold for A=5, E=768: it requires that A divides E"),
        ({"H": np.array([3072, 3000])}, "gpt2.params does not hold for E=768, H=3000: it requires that H is 4E"),
    ],
)
def test_invalid_arrays_give_a_one_sentence_error(given: dict[str, Any], said: str) -> None:
    compiled = sf.model("gpt2").params.compile()
    with pytest.raises(SymformerError) as refused:
        compiled(**{"L": 12, "V": 50_257, "P": 1_024, "E": 768, **given})
    assert str(refused.value) == said


def test_missing_sizes_and_ratios() -> None:
    with pytest.raises(SymformerError, match=r"^llama\.params needs values for L, V, H, A, G, D$"):
        sf.model("llama").params.compile()(E=3)
    with pytest.raises(SymformerError, match=r"gpt2\.intensity is a ratio, not an integer"):
        sf.model("gpt2").formula("intensity").compile()


def test_empty_arrays_and_several_axes() -> None:
    compiled = sf.model("component:mlp").params.compile()
    assert compiled(E=np.array([], int), H=3).shape == (0,)
    assert compiled(E=np.ones((2, 1, 3), int), H=np.ones((4, 1), int)).shape == (2, 4, 3)


def test_compiled_formula_is_pickled() -> None:
    compiled = sf.model("llama-2-7b").params.compile()
    sent = pickle.loads(pickle.dumps(compiled))  # noqa: S301
    assert isinstance(sent, Compiled)
    assert sent() == 6_738_415_616
    assert b"sympy" not in pickle.dumps(compiled)


def test_torch_tensors() -> None:
    compiled = sf.model("llama").params.compile()
    given = {"V": 32_000, "H": 11_008, "A": 32, "G": 32, "D": 128}
    found = compiled(E=torch.tensor([[4096], [2048]], dtype=torch.int32), L=torch.tensor([32, 16]), **given)
    assert (found.dtype, tuple(found.shape)) == (torch.int64, (2, 2))
    assert found[0, 0].item() == 6_738_415_616
    beyond = compiled(E=torch.tensor([10**12]), L=10**9, **given)
    layer = 4 * 32 * 128 + 3 * 11_008 + 2
    assert beyond.tolist() == [10**12 * (10**9 * layer + 2 * 32_000 + 1)]
    values, holds = (
        sf.model("gpt2").params.compile().evaluate_with_mask(E=torch.tensor([768, 769]), L=torch.tensor([12, 12]))
    )
    assert (values[0].item(), holds.tolist()) == (124_439_808, [True, False])
    with pytest.raises(SymformerError, match="for A=12, E=769: it requires that A divides E"):
        sf.model("gpt2").params.compile()(E=torch.tensor([768, 769]))
    with pytest.raises(SymformerError, match="E is an array of torch and L one of numpy; use arrays of one library"):
        compiled(E=torch.tensor([1]), L=np.array([1]), **given)


def test_torch_min_max_and_floor() -> None:
    formula = sf.model("gpt2").params.partial(V="64*ceil(V_type/64)", P="max(7, E)", L="min(E, X//3)")
    rows = {"E": [12, 24, 36], "V_type": [1, 64, 65], "X": [9, 40, 1_000]}
    found = formula.compile()(**{name: torch.tensor(each) for name, each in rows.items()})
    assert found.tolist() == formula.compile()(**{name: np.array(each) for name, each in rows.items()}).tolist()


def test_dask_arrays() -> None:
    compiled = sf.model("llama").params.compile()
    given = {"V": 32_000, "H": 11_008, "A": 32, "G": 32, "D": 128}
    found = compiled(E=da.arange(1, 1001, chunks=300)[:, None], L=da.arange(1, 41, chunks=7), **given)
    assert found.shape == (1000, 40)
    assert found.dtype == np.int64
    expected = compiled(E=np.arange(1, 1001)[:, None], L=np.arange(1, 41), **given)
    assert (found.compute() == expected).all()
    assert compiled(E=da.from_array(np.array([10**12])), L=10**9, **given).compute().dtype == object
    values, holds = (
        sf.model("gpt2").params.compile().evaluate_with_mask(E=da.from_array(np.array([768, 769]), chunks=1))
    )
    assert (int(values[0].compute()), holds.compute().tolist()) == (124_439_808, [True, False])
    lazy = sf.model("gpt2").params.compile()(E=da.from_array(np.array([768, 769]), chunks=1))
    with pytest.raises(SymformerError, match="for A=12, E=769: it requires that A divides E"):
        lazy.compute()
