"""Plots: shares, FLOPs, memory and rooflines, their exact numbers, and the places of their legends."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sympy import Integer

from symformer.architectures import composed_model
from symformer.commands.cli import cli
from symformer.language.errors import OptionError
from symformer.language.symbols import S, symbol
from symformer.views.plots.flops_plot import crossover, halves, overtaking
from symformer.views.plots.memory_plot import amount, largest
from symformer.views.plots.shares_plot import shares_of

from .samples import sampled


def plot(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["plot", *arguments], prog_name="symformer")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


KINDS = {
    "shares": ["gpt2", "--kind", "shares"],
    "flops": ["llama-2-7b", "mistral-7b-v0.1", "--kind", "flops"],
    "memory": ["gpt2", "--kind", "memory", "--set", "S=512", "--device", "8GiB"],
    "roofline": ["gpt2", "--kind", "roofline", "--peak", "989TFLOPS", "--bandwidth", "3.35TB/s"]
    + [each for size in "BSC" for each in ("--set", f"{size}=8")],
}


@pytest.mark.parametrize(
    ("kind", "extension"), sampled(2, [("flops", "pdf"), *((kind, "svg") for kind in KINDS), ("memory", "png")])
)
def test_plots_are_reproducible(kind: str, extension: str, folder: Path) -> None:
    for name in ("a", "b"):
        result = plot(*KINDS[kind], "-o", f"{name}.{extension}")
        assert result.exit_code == 0, result.output
    content = (folder / f"a.{extension}").read_bytes()
    assert content == (folder / f"b.{extension}").read_bytes()
    assert len(content) > 4000
    assert b"Date" not in content


@pytest.mark.parametrize("kind", KINDS)
def test_legends_are_outside_the_data(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.figure import Figure as Plot

    drawn: list[Plot] = []
    save = Plot.savefig
    monkeypatch.setattr(Plot, "savefig", lambda self, *args, **kw: (drawn.append(self), save(self, *args, **kw))[1])
    assert plot(*KINDS[kind], "-o", "a.png").exit_code == 0
    (figure,) = drawn
    legends = [*figure.legends, *(each for axes in figure.axes if (each := axes.get_legend()))]
    assert legends
    for legend in legends:
        assert not any(legend.get_window_extent().overlaps(axes.get_window_extent()) for axes in figure.axes)


def test_length_at_which_attention_exceeds_matrices() -> None:
    """Llama-2-7B takes 13,214,154,752 FLOPs per token in matrices: 2(4·4096² + 3·4096·11008)·32 + 2·32000·4096.

    It takes 4·4096·32 = 524,288 in attention per attended token, so both are equal at 25,204 tokens.
    """
    formula = composed_model("llama-2-7b").formula("flops")
    where = crossover(formula)
    known = {size: Integer(number) for size, number in composed_model("llama-2-7b").known.items()}
    assert where is not None
    assert where.xreplace(known) == 25204
    attends, rest = halves(formula)
    put = {**known, symbol("B"): 1, S: 25204}
    assert attends.xreplace(put) == rest.xreplace(put) == 13_214_154_752 * 25204
    assert overtaking(formula, {**composed_model("llama-2-7b").known, symbol("B"): 1}, [64, 4096, 65536]) == 25204


def test_windowed_attention_has_no_single_crossover() -> None:
    assert crossover(composed_model("mistral-7b-v0.1").formula("flops", attention="causal")) is None


def test_largest_batch_fits_and_the_next_does_not() -> None:
    model = composed_model("gpt2").set({"S": 512})
    formula = model.formula("train-memory")
    limit = amount("8GiB", ("B",), "--device")
    assert limit == 8 * 2**30
    most = largest(formula, model.known, limit)
    assert formula.value(B=most) <= limit < formula.value(B=most + 1)
    assert largest(formula, model.known, Fraction(1)) == 0


@pytest.mark.parametrize("batch", [1, 2, 3, 8, 13])
def test_batch_that_fills_the_device_exactly_fits(batch: int) -> None:
    """GPT-2's cache of 9 tokens: keys and values of 12 layers and 768 numbers, 2 bytes each, per sequence."""
    sequence = 2 * 12 * 768 * 2 * 9
    cache = composed_model("gpt2").set({"C": 9})
    assert largest(cache.formula("kv-cache"), cache.known, Fraction(batch * sequence)) == batch
    assert largest(cache.formula("kv-cache"), cache.known, Fraction(batch * sequence - 1)) == batch - 1


def test_shares_of_roles() -> None:
    """GPT-2: (50257 + 1024)·768 of 124,439,808 elements are embeddings, and the head is tied to them."""
    found = shares_of(composed_model("gpt2"), composed_model("gpt2").params)
    assert found["embeddings"] == Fraction(51281 * 768, 124439808)
    assert sum(found.values()) == 1
    assert "head" not in found


@pytest.mark.parametrize(
    ("given", "units", "value"),
    [("80GB", ("B",), 80 * 10**9), ("3.35TB/s", ("B/s",), 3_350 * 10**9), ("989 TFLOPS", ("FLOPS",), 989 * 10**12)],
)
def test_amounts_are_parsed(given: str, units: tuple[str, ...], value: int) -> None:
    assert amount(given, units, "--x") == value


@pytest.mark.parametrize(
    "given", ["", "80", "GB", "-80GB", "80XB", "0GB", "1e9B", "80iB", "80GB/s", "9" * 99 + "GB", "٣GB"]
)
def test_invalid_amounts_are_refused(given: str) -> None:
    with pytest.raises(OptionError, match="is not valid"):
        amount(given, ("B",), "--device")


def test_missing_matplotlib_error_names_the_package() -> None:
    code = """
import sys
sys.modules["matplotlib"] = None
sys.argv = ["symformer", "plot", "gpt2", "--kind", "shares", "-o", "a.svg"]
from symformer.commands.cli import main
main()
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "pip install matplotlib" in run.stderr
