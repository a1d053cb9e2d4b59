"""What users of SymPy, pandas and Hugging Face expect of the public API, one expectation per test.

GPT-2 has 12*L*E**2 + 13*L*E + V*E + P*E + 2*E parameters. At L=12, V=50257, P=1024, E=768 these are
12*12*768**2 + 13*12*768 + (50257 + 1024 + 2)*768 = 124,439,808, as in its checkpoint.
"""

from __future__ import annotations

import copy
import inspect
import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import sympy
import torch
import transformers
from torch import nn

import symformer as sf
import symformer.views.listing as listing
from symformer.symbols import B, E, H, L, P, S, V

GPT2 = 124_439_808
XL = {"model_type": "gpt2", "n_layer": 48, "n_embd": 1600, "n_head": 25}
GPT2_XL = 1_557_611_200


@pytest.fixture(scope="module")
def gpt2() -> sf.Model:
    return sf.model("gpt2")


# Arithmetic


def test_a_number_times_a_formula_is_a_formula(gpt2: sf.Model) -> None:
    assert isinstance(2 * gpt2.params, sf.Formula)
    assert (2 * gpt2.params)() == (gpt2.params * 2)() == 2 * GPT2


def test_a_symbol_times_a_formula_is_a_formula(gpt2: sf.Model) -> None:
    assert isinstance(E * gpt2.params, sf.Formula)
    assert (E * gpt2.params)() == 768 * GPT2


def test_sympy_expressions_are_subtracted(gpt2: sf.Model) -> None:
    rest = gpt2.params - 12 * L * E**2
    assert str(rest) == "13*L*E + V*E + P*E + 2*E"
    assert (12 * L * E**2 - gpt2.params) == -rest


def test_sum_of_formulas_works(gpt2: sf.Model) -> None:
    parts = [gpt2.params.part(name) for name in ("wte", "wpe", "ln_f")]
    assert sum(parts) == V * E + P * E + 2 * E


def test_a_quotient_of_formulas_is_exact(gpt2: sf.Model) -> None:
    ratio = gpt2.formula("flops") / gpt2.params
    # 24*12*1024*768**2 + 4*12*1024**2*768 + 2*1024*50257*768 FLOPs
    assert ratio(B=1, S=1024) == Fraction(
        24 * 12 * 1024 * 768**2 + 4 * 12 * 1024**2 * 768 + 2 * 1024 * 50257 * 768, GPT2
    )


def test_a_quotient_times_its_denominator_is_the_numerator(gpt2: sf.Model) -> None:
    flops = gpt2.formula("flops")
    assert flops / gpt2.params * gpt2.params == flops


def test_integer_powers_work_and_others_are_errors(gpt2: sf.Model) -> None:
    assert (gpt2.params**2)() == GPT2**2
    assert (gpt2.params**-1)() == Fraction(1, GPT2)
    with pytest.raises(sf.SizeError, match=r"the power of a formula is an integer, not 0\.5"):
        gpt2.params**0.5


def test_floats_are_read_as_the_decimals_they_show(gpt2: sf.Model) -> None:
    assert (gpt2.params * 0.1)() == Fraction(GPT2, 10)
    assert float(gpt2.params / 1e9) == GPT2 / 10**9


def test_division_by_zero_is_an_error(gpt2: sf.Model) -> None:
    for zero in (0, gpt2.params - gpt2.params):
        with pytest.raises(sf.SizeError, match="is divided by"):
            gpt2.params / zero


def test_other_operands_are_type_errors(gpt2: sf.Model) -> None:
    for other in ("1", None, [1], True):
        with pytest.raises(TypeError):
            gpt2.params + other


def test_numpy_integers_are_numbers(gpt2: sf.Model) -> None:
    numpy = pytest.importorskip("numpy")
    assert isinstance(numpy.int64(2) * gpt2.params, sf.Formula)
    assert (numpy.int64(2) * gpt2.params)() == 2 * GPT2


def test_two_models_have_one_value_only_where_their_sizes_agree(gpt2: sf.Model) -> None:
    both = gpt2.params / sf.model("gpt2-xl").params
    assert both == 1  # the same function of the sizes
    with pytest.raises(sf.SizeError, match="L is 12 in gpt2 and 48 in gpt2-xl; give L, or combine the values"):
        float(gpt2.params + sf.model("gpt2-xl").params)


def test_long_powers_are_refused_before_they_are_expanded() -> None:
    with pytest.raises(sf.SizeError, match="more than the limit"):
        sf.model("deepseek-v3").params ** 12


# Units


def test_bytes_and_flops_are_not_added(gpt2: sf.Model) -> None:
    with pytest.raises(sf.SizeError, match=r"kv-cache is in bytes and gpt2\.flops in FLOPs, so they cannot be added"):
        gpt2.formula("kv-cache") + gpt2.formula("flops")


def test_units_are_multiplied_and_divided(gpt2: sf.Model) -> None:
    flops, cache = gpt2.formula("flops"), gpt2.formula("kv-cache")
    assert (flops / cache).unit == "FLOPs/byte"
    assert (flops / cache * cache).unit == "FLOPs"
    assert (flops / flops).unit == ""
    assert (gpt2.params**2).unit == "elements**2"
    assert (gpt2.params**2 / (flops * cache) / gpt2.params).unit == "elements/(FLOP*byte)"


def test_a_unit_can_be_stated(gpt2: sf.Model) -> None:
    memory = (2 * gpt2.params).in_unit("bytes") + gpt2.formula("kv-cache")
    assert memory(B=1, C=1024) == 2 * GPT2 + 4 * 12 * 1024 * 768  # keys and values of 2 bytes
    assert memory.unit == "bytes"
    for unit in (7, "bytes/", "a+b", "bytes**x"):
        with pytest.raises(sf.SizeError, match="is not a unit; write one such as 'bytes'"):
            gpt2.params.in_unit(unit)


# SymPy


def test_sympify_gives_the_expression(gpt2: sf.Model) -> None:
    assert sympy.sympify(gpt2.params) == sympy.expand(E * (12 * L * E + 13 * L + V + P + 2))


def test_free_symbols_are_those_of_sympy(gpt2: sf.Model) -> None:
    assert gpt2.params.free_symbols == {L, E, V, P}


def test_diff_takes_symbols_names_and_orders(gpt2: sf.Model) -> None:
    assert gpt2.params.diff(L) == gpt2.params.diff("L") == sympy.diff(gpt2.params, L) == 12 * E**2 + 13 * E
    assert gpt2.params.diff(E, 2) == 24 * L
    assert gpt2.params.diff(E, L) == 24 * E + 13


def test_subs_takes_the_forms_of_sympy(gpt2: sf.Model) -> None:
    expected = 24 * E**2 + 26 * E + V * E + P * E + 2 * E
    for given in ((L, 2), ({L: 2},), ([(L, 2)],), ("L", 2)):
        assert gpt2.params.subs(*given) == expected
    assert gpt2.params.subs(L=2) == expected
    assert gpt2.params.subs(L, 2)() == 24 * 768**2 + 28 * 768 + (50257 + 1024) * 768


def test_subs_of_one_more_layer_gives_one_layer(gpt2: sf.Model) -> None:
    one = gpt2.params.subs(L, L + 1) - gpt2.params
    assert one == 12 * E**2 + 13 * E
    assert one() == 12 * 768**2 + 13 * 768


def test_subs_keeps_the_conditions(gpt2: sf.Model) -> None:
    moved = (2 * gpt2.params).subs(E, E + 1)
    with pytest.raises(sf.SizeError, match="is not a multiple of A=12"):
        moved()  # 769 is not a multiple of 12 heads
    assert (2 * gpt2.params).subs(L, L + 1)(L=11) == 2 * GPT2


def test_subs_refuses_what_is_not_a_size(gpt2: sf.Model) -> None:
    for value in (0, -1, sympy.Rational(1, 2), 1.5):
        with pytest.raises(sf.SizeError):
            gpt2.params.subs(L, value)


def test_limit_is_a_formula_or_infinity(gpt2: sf.Model) -> None:
    ratio = gpt2.formula("flops") / gpt2.params
    assert ratio.limit("L") == (24 * B * S * E + 4 * B * S**2) / (12 * E + 13)
    assert gpt2.params.limit(L) is sympy.oo
    assert sympy.limit(ratio, L, sympy.oo) == (24 * B * S * E + 4 * B * S**2) / (12 * E + 13)


def test_factor_gives_a_product(gpt2: sf.Model) -> None:
    assert gpt2.params.factor() == E * (12 * L * E + 13 * L + V + P + 2)
    assert gpt2.params.factor().func is sympy.Mul


def test_equality_is_mathematical(gpt2: sf.Model) -> None:
    assert gpt2.params == E * (12 * L * E + 13 * L + V + P + 2)
    assert gpt2.params != E * (12 * L * E + 13 * L + V + P + 3)
    assert gpt2.params - gpt2.params == 0
    assert sf.component("mlp", bias=False).params == 2 * E * H


def test_equal_formulas_have_equal_hashes(gpt2: sf.Model) -> None:
    flops = gpt2.formula("flops")
    assert hash(flops / gpt2.params * gpt2.params) == hash(flops)
    assert hash(gpt2.params - gpt2.params + 5) == hash(5)
    assert hash(gpt2.params / gpt2.params / 2) == hash(Fraction(1, 2))
    assert {gpt2.params: 1}[sf.model("gpt2-xl").params] == 1


def test_a_symbol_of_another_package_is_refused(gpt2: sf.Model) -> None:
    with pytest.raises(sf.SizeError, match=r"import it, as in `from symformer\.symbols import E, L`"):
        sympy.Symbol("E") * gpt2.params  # not positive and integer: it would silently be another size


def test_letters_are_importable_and_listed() -> None:
    import symformer.symbols

    assert {"E", "L", "D_rope", "N_tp"} <= set(dir(symformer.symbols))
    assert E.is_integer
    assert E.is_positive
    with pytest.raises(AttributeError, match=r"did you mean E \(hidden size\)"):
        assert symformer.symbols.hidden_size


def test_latex_of_sympy_prints_house_order(gpt2: sf.Model) -> None:
    assert sympy.latex(gpt2.params) == gpt2.params.latex() == f"{gpt2.params:latex}"


# Values


def test_int_float_and_format_give_the_value(gpt2: sf.Model) -> None:
    assert int(gpt2.params) == GPT2
    assert float(gpt2.params) == 124439808.0
    assert f"{gpt2.params:,}" == "124,439,808"
    assert f"{gpt2.params:.2e}" == "1.24e+08"
    assert f"{gpt2.params}" == str(gpt2.params)


def test_int_of_a_fraction_is_an_error(gpt2: sf.Model) -> None:
    with pytest.raises(sf.SizeError, match="is 124439808/7, not an integer"):
        int(gpt2.params / 7)


def test_a_missing_size_is_named(gpt2: sf.Model) -> None:
    with pytest.raises(sf.SizeError, match=r"gpt2\.flops needs values for B, S"):
        float(gpt2.formula("flops"))


def test_a_formula_is_called_with_sizes(gpt2: sf.Model) -> None:
    assert gpt2.params(L=1) == 12 * 768**2 + 13 * 768 + (50257 + 1024 + 2) * 768
    assert gpt2.params("gpt2-xl") == (2 * gpt2.params)("gpt2-xl") // 2 == GPT2_XL


def test_a_size_without_effect_is_refused(gpt2: sf.Model) -> None:
    with pytest.raises(sf.SizeError, match="has no size B"):
        (2 * gpt2.params)(B=1)
    with pytest.raises(sf.SizeError, match="L was replaced in"):
        (2 * gpt2.params).subs(L, 3)(L=5)


# Hugging Face


def test_a_dict_a_config_and_a_model_are_the_same_target() -> None:
    config = transformers.GPT2Config(n_layer=3, n_embd=12, n_head=2, vocab_size=101, n_positions=32)
    with torch.device("meta"):
        module = transformers.GPT2LMHeadModel(config)
    stored = sum(each.numel() for each in module.parameters())
    for target in (config, config.to_dict() | {"architectures": ["GPT2LMHeadModel"]}, module):
        assert sf.model(target).params.value() == sf.from_config(target).params.value() == stored


def test_paths_and_folders_are_targets(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(XL))
    for target in (tmp_path, tmp_path / "config.json", str(tmp_path), str(tmp_path / "config.json")):
        assert int(sf.model(target).params) == GPT2_XL


def test_a_preset_and_a_config_agree() -> None:
    assert sf.model(XL).params.value() == sf.model("gpt2-xl").params.value() == GPT2_XL


def test_a_module_with_fixed_sizes_has_a_name_an_id_and_exact_rows() -> None:
    model = sf.model(nn.Linear(3, 4))  # 3*4 + 4
    assert (model.title, model.id, int(model.params)) == ("Linear", "torch.nn.modules.linear-Linear", 16)


def test_a_module_class_with_sizes_is_traced() -> None:
    model = sf.model(nn.Linear, in_features=3, out_features=5)
    assert int(model.params) == 3 * 5 + 5
    assert model.params(in_features=7) == 7 * 5 + 5


def test_any_other_object_lists_what_is_accepted() -> None:
    for other in (None, 7, b"gpt2", ["gpt2"], dict, object()):
        with pytest.raises(
            sf.SymformerError, match=r"pass a name, a path, an id on the Hub, a mapping .* a torch module"
        ):
            sf.model(other)


def test_torch_is_not_imported_to_refuse_an_object() -> None:
    code = (
        "import sys, symformer as sf\n"
        "try: sf.model(object())\n"
        "except sf.TargetError: print('torch' in sys.modules, 'pandas' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert found.stdout == "False False\n"


# Lists and tables


def test_the_packages_are_also_functions() -> None:
    import symformer.architectures as package

    assert sf.architectures is package
    assert sf.architectures().names[:2] == tuple(package.names()[:2])


def test_an_architecture_has_title_paper_sizes_and_conventions() -> None:
    found = sf.architectures()["gpt2"]
    assert found.title == "GPT-2"
    assert (found.paper.short, found.paper.year) == ("Radford et al. 2019", 2019)
    assert found.sizes["E"] == "hidden size"
    assert found.conventions["tied"] == ("true", "false")
    assert found.model() == sf.model("gpt2")


def test_a_preset_has_sizes_and_a_source() -> None:
    found = sf.presets()["gpt2-xl"]
    assert dict(found.sizes) == {"V": 50257, "P": 1024, "E": 1600, "L": 48, "A": 25}
    assert found.hub == "openai-community/gpt2-xl"
    assert {each.architecture for each in sf.presets("gpt2")} == {"gpt2"}


def test_a_quantity_has_a_unit_sizes_and_conventions() -> None:
    found = sf.quantities()["flops"]
    assert (found.unit, set(found.sizes)) == ("FLOPs", {"B", "S"})
    assert set(found.conventions["attention"]) == {"full", "causal"}


def test_a_component_has_a_paper_and_shapes() -> None:
    found = sf.components()["gated-mlp"]
    assert (found.paper.arxiv, found.shapes) == ("2002.05202", "x[...,E] -> y[...,E]")
    assert found.component().params == 3 * E * H


def test_options_list_what_a_target_accepts() -> None:
    found = sf.options("gpt2", "flops")
    assert found["tied"].kind == "option"
    assert found["attention"].default == "full"
    for name, option in ((each.name, each) for each in found if each.kind == "convention" and each.name != "counted"):
        for value in option.values:
            try:
                sf.model("gpt2").formula("flops", **{name: value})
            except sf.OptionError as error:  # pragma: no cover
                pytest.fail(str(error))
            except sf.RuleError:
                pass


def test_to_pandas_passes_the_columns(gpt2: sf.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    pandas: Any = ModuleType("pandas")
    pandas.DataFrame = lambda columns: columns
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    columns = gpt2.params.rows.to_pandas()
    assert sum(columns["value"]) == GPT2
    assert sum(columns["share"]) == pytest.approx(1)
    assert list(columns) == ["path", "count", "formula", "value", "share"]
    assert sf.compare("gpt2", "gpt2-xl").to_pandas()["gpt2 value"][-1] == GPT2
    assert sf.presets("gpt2").to_pandas()["name"][0] == "gpt2"


def test_to_pandas_without_pandas_says_what_to_install(gpt2: sf.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(sf.DocumentError, match=r"pip install pandas, or use table\(\)"):
        gpt2.params.to_pandas()


def test_to_markdown_gives_a_table() -> None:
    lines = sf.solve("llama-2-7b", 6738415616, unknowns="L").to_markdown().splitlines()
    assert lines == [
        "| L | params | off by | buildable |",
        "|---:|---:|---:|---|",
        "| 32 | 6,738,415,616 | 0 | true |",
    ]


# Immutability


def test_fields_cannot_be_set(gpt2: sf.Model) -> None:
    for value, name in ((gpt2, "target"), (gpt2.params, "id"), (sf.presets()[0], "name")):
        with pytest.raises(FrozenInstanceError):
            setattr(value, name, "other")


def test_mappings_and_rows_cannot_be_changed(gpt2: sf.Model) -> None:
    for change in (
        lambda: gpt2.numbers.__setitem__(L, 1),
        lambda: gpt2.params.rows.append(None),
        gpt2.params.rows.clear,
        lambda: sf.presets()["gpt2"].sizes.update(E=1),
        (2 * gpt2.params).relations.clear,
    ):
        with pytest.raises(TypeError, match="part of an immutable value"):
            change()


def test_models_and_formulas_survive_copy_and_pickle(gpt2: sf.Model) -> None:
    for value in (gpt2, gpt2.params, 2 * gpt2.params, gpt2.formula("flops") / gpt2.params, sf.presets("gpt2")):
        for other in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):  # noqa: S301
            assert other == value
            assert hash(other) == hash(value)
    assert pickle.loads(pickle.dumps(gpt2.params)).rows == gpt2.params.rows  # noqa: S301


def test_equal_targets_are_equal_models(gpt2: sf.Model) -> None:
    assert gpt2 == sf.model("gpt2")
    assert hash(gpt2) == hash(sf.model("gpt2"))
    assert gpt2 != sf.model("gpt2", tied=False)
    assert gpt2 != gpt2.set({"L": 3})


def test_threads_get_the_same_values() -> None:
    def work(number: int) -> tuple[int, str]:
        model = sf.model("gpt2").set({"L": number + 1})
        return (2 * model.params)(), str(model.formula("flops").diff("L"))

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(16)))
    # 2*(12*E**2 + 13*E) more for each layer
    assert {b[0] - a[0] for a, b in pairwise(found)} == {2 * (12 * 768**2 + 13 * 768)}
    assert len({text for _, text in found}) == 1


# Errors


def test_every_exception_is_exported() -> None:
    from symformer.language import errors

    own = [each for each in vars(errors).values() if inspect.isclass(each) and issubclass(each, sf.SymformerError)]
    assert len(own) > 15
    for each in own:
        assert getattr(sf, each.__name__) is each
        assert each.__name__ in sf.__all__


@pytest.mark.parametrize(
    ("call", "suggestion"),
    [
        (lambda: sf.model("gtp2"), "did you mean gpt2"),
        (lambda: sf.model("gpt2").formula("flop"), "did you mean flops"),
        (lambda: sf.model("gpt2").formula("flops", atention="causal"), "did you mean attention"),
        (lambda: sf.model("gpt2").formula("flops", attention="casual"), "did you mean causal"),
        (lambda: sf.model("gpt2", teid=False), "did you mean tied"),
        (lambda: sf.model("gpt2", tied="flase"), "did you mean false"),
        (lambda: sf.model("gpt2").params(hidden_size=8), r"did you mean E \(hidden size\)"),
        (lambda: sf.model("gpt2").params.part("h.atn"), "did you mean h.attn"),
        (lambda: sf.compare("gpt2", "llama-2-7b", "flop"), "did you mean flops"),
        (lambda: sf.solve("gpt2", 10**9, unknowns="LL"), "did you mean L"),
        (lambda: sf.sweep("gpt2", {"L": [1]}, quantity="parms"), "did you mean params"),
        (lambda: sf.verify("gpt2", quantity="flop"), "did you mean flops"),
        (lambda: sf.presets("gtp2"), "did you mean gpt2"),
        (lambda: sf.options("gpt2")["teid"], "did you mean tied"),
        (lambda: sf.from_config({"model_type": "gtp2"}), "did you mean gpt2"),
    ],
)
def test_a_misspelt_name_suggests_the_right_one(call: Any, suggestion: str) -> None:
    with pytest.raises(sf.SymformerError, match=suggestion):
        call()


@pytest.mark.parametrize(
    ("line", "suggestion"),
    [
        ("show gpt2 -q flop", "did you mean flops"),
        ("show gpt2 -q flops --option attention=casual", "did you mean causal"),
        ("show gpt2 --set layers=3", "did you mean L (layers)"),
        ("verify gpt2 -q flop", "did you mean flops"),
    ],
)
def test_the_command_line_suggests_the_right_name(line: str, suggestion: str) -> None:
    from click.testing import CliRunner

    from symformer.commands.cli import cli

    found = CliRunner().invoke(cli, line.split(), prog_name="symformer")
    assert found.exit_code == 2
    assert suggestion in found.output


def test_verify_takes_conventions_and_the_old_spelling() -> None:
    with pytest.raises(sf.OptionError, match="optimizer=agd is not supported by train-memory; did you mean asgd"):
        sf.verify("gpt2", quantity="train-memory", optimizer="agd")
    with pytest.raises(sf.OptionError, match="optimizer=agd is not supported"):
        sf.verify("gpt2", quantity="train-memory", way={"optimizer": "agd"})
    with pytest.raises(sf.OptionError, match="give all of them as keywords"):
        sf.verify("gpt2", quantity="train-memory", way={"optimizer": "sgd"}, optimizer="sgd")


# Documentation


def documented() -> list[Any]:
    """Return every public function and class, and every public method of the classes."""
    found: list[Any] = []
    for name in sf.__all__:
        item = (
            getattr(listing, name, None)
            if name in ("architectures", "components", "devices", "quantities")
            else getattr(sf, name)
        )
        found.append(pytest.param(item, id=name))
        if inspect.isclass(item) and not issubclass(item, Exception):
            for each in dir(item):
                member = inspect.getattr_static(item, each)
                if not each.startswith("_") and not isinstance(member, property | cached_property):
                    member = getattr(item, each)
                    if callable(member) and (member.__module__ or "").startswith("symformer"):
                        found.append(pytest.param(member, id=f"{name}.{each}"))
    return found


@pytest.mark.parametrize("item", documented())
def test_public_docstrings_have_parameters_returns_and_examples(item: Any) -> None:
    doc = inspect.getdoc(item) or ""
    assert doc[0].isupper()
    if inspect.isclass(item) and issubclass(item, Exception):
        return
    takes = [] if inspect.isclass(item) else [name for name in inspect.signature(item).parameters if name != "self"]
    assert "Examples\n--------" in doc
    assert inspect.isclass(item) or "Returns\n-------" in doc
    for name in takes:
        assert "Parameters\n----------" in doc
        assert any(name in line.replace("*", "").split(", ") for line in doc.splitlines()), f"{name} is not described"


def test_help_of_solve_explains_given_where_and_within() -> None:
    doc = inspect.getdoc(sf.solve) or ""
    assert "The tolerance around ``total``; without it, only exact solutions count." in doc
    assert "The sizes to set before the search, in place of the target's own" in doc
    assert "The sizes that follow from the unknowns" in doc
    assert sf.solve("gpt2", "124M", unknowns="L", tolerance="1%").table()["L"] == [12]
    assert sf.solve("gpt2", "124M", unknowns="L").table()["L"] == []  # 124,439,808 is not 124,000,000
    with pytest.raises(sf.SizeError, match="H is in sizes and in relations; keep one"):
        sf.solve("gpt2", "124M", unknowns="L", sizes={"H": 3072}, relations={"H": "4*E"})
