"""A session of a model at a point: its rows, by hand, and the suppressed output of third-party code."""

from __future__ import annotations

import json
import logging
import os
import sys
import warnings
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
from transformers import GPT2Config, GPT2LMHeadModel

import symformer as sf
from symformer.commands.cli import cli
from symformer.witness.dispatch_recorders import FlopCounter, Products, record_saved
from symformer.witness.fake_shapes import Shapes
from symformer.witness.torch_session import NOWHERE, Session, silence

BATCH, LENGTH, WIDTH, HIDDEN = 2, 3, 5, 7
NOISY = """
import logging, os, sys, warnings
import torch
from torch import nn

print("at import")
HELD = sys.stdout


class Noisy(nn.Module):
    def __init__(self, E, H):
        super().__init__()
        print("number of parameters: 0.03M")
        print("held from the import", file=HELD)
        self.up = nn.Linear(E, H)

    def forward(self, x):
        os.write(1, b"below Python")
        os.write(2, b"below Python")
        warnings.warn("a remark")
        logging.getLogger("torch._subclasses.fake_tensor").error("failed while attempting to run meta")
        print("forward", file=sys.stderr)
        return self.up(x)


def build(E=5, H=7):
    return Noisy(E, H)


def inputs(B, S, E):
    return torch.zeros(B, S, E)
"""


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(self.up(x).relu())


def run(model: nn.Module) -> Any:
    return model(torch.zeros(BATCH, LENGTH, WIDTH))


def test_products_and_saved_tensors_by_hand() -> None:
    session = Session(Two)
    assert session.stored() == {"up.weight": (7, 5), "up.bias": (7,), "down.weight": (5, 7)}
    # 6 rows of 5 by [5, 7], then 6 rows of 7 by [7, 5]; the gradient of the model's own input is not needed
    forward = session.products(run)
    assert forward.rows == {"up.addmm": (1, 6, 5, 7), "down.mm": (1, 6, 7, 5)}
    assert forward.flops == session.flops(run).get_total_flops() == 2 * (6 * 5 * 7 + 6 * 7 * 5)
    both = session.products(run, backward=True)
    assert both.flops == session.flops(run, backward=True).get_total_flops() == forward.flops * 5 // 2
    # up's input, as 6 rows, for its weight; the function's output for itself and for down's weight; 4 bytes per element
    assert session.kept(run).tally.rows == {"up.kept": (1, 6, 5, 4), "kept": (1, 2, 3, 7, 4)}


def test_a_model_is_built_once_per_device() -> None:
    built = []

    def build() -> nn.Module:
        built.append(torch.get_default_device() if hasattr(torch, "get_default_device") else None)
        return Two()

    session = Session(build)
    for _ in range(3):
        session.products(run)
        session.kept(run)
    assert len(built) == 2
    assert next(session.model().parameters()).device.type == "meta"


def test_cache_rows_have_the_shapes_of_keys_and_values() -> None:
    config = GPT2Config(vocab_size=29, n_positions=16, n_embd=12, n_layer=2, n_head=3)
    session = Session(lambda: GPT2LMHeadModel(config))
    rows = session.cached(lambda model: model(torch.zeros(2, 7, dtype=torch.long), use_cache=True))
    assert rows == {f"layers.{layer}.{name}": (2, 3, 7, 4) for layer in (0, 1) for name in ("keys", "values")}


def test_products_are_attributed_to_the_module_that_ran_them() -> None:
    """Torch's own counter sees the same products when it observes the same run."""
    session = Session(Two)
    seen = Products(session.model())
    counter = session.flops(run, seen, backward=True)
    assert seen.flops == counter.get_total_flops() > 0
    assert seen.where.ran == {"", "up", "down"}


aten = torch.ops.aten
MATRIX, ROW = torch.empty(3, 5, device="meta"), torch.empty(5, device="meta")
TURNED, WHOLE = MATRIX.t(), torch.empty(3, 5, dtype=torch.long, device="meta")


@pytest.mark.parametrize(
    ("func", "args"),
    [
        (aten.add.Tensor, (MATRIX, ROW)),
        (aten.mul.Tensor, (TURNED, TURNED)),  # its strides do not match its shape
        (aten.mul.Tensor, (WHOLE, 2)),
        (aten.mul.Tensor, (WHOLE, 2.0)),  # equal to the 2 above, but it converts integers to floats
        (aten.sum.dim_IntList, (MATRIX, [-1], True)),
        (aten.native_layer_norm.default, (MATRIX, [5], ROW, ROW, 1e-5)),
        (aten.cat.default, ([MATRIX, MATRIX], 1)),
        (aten.max.dim, (MATRIX, 1)),
    ],
)
def test_memoized_shapes_equal_the_torch_results(func: Any, args: Any) -> None:
    shapes = Shapes()
    for other in ((MATRIX, 3), (WHOLE, 2), (WHOLE, 2.0)):
        shapes.call(aten.mul.Tensor, other, None)
    once, again, truth = shapes.call(func, args, None), shapes.call(func, args, None), func(*args)
    assert any(shapes.made.values())

    def told(out: Any) -> list[Any]:
        each = out if isinstance(out, tuple) else (out,)
        return [(x.shape, x.stride(), x.dtype, x.device.type, x.untyped_storage().nbytes()) for x in each]

    assert told(once) == told(again) == told(truth)


def lying(*sizes: int) -> list[Tensor]:
    """Return tensors of one shape with different memory layouts: contiguous, transposed, expanded, with gaps."""
    whole = torch.empty(sizes, device="meta")
    turned = torch.empty(sizes[::-1], device="meta").permute(*reversed(range(len(sizes))))
    gaps = torch.empty((*sizes[:-1], 2 * sizes[-1]), device="meta")[..., : sizes[-1]]
    return [whole, turned, gaps, torch.empty(sizes[-1], device="meta").expand(sizes)]


@pytest.mark.parametrize("func", [aten.mul.Tensor, aten.add.Tensor, aten.gt.Tensor, aten.where.self])
@pytest.mark.parametrize("ones", [(), (0,), (2,)])
def test_elementwise_shapes_are_inferred_at_other_sizes(func: Any, ones: tuple[int, ...]) -> None:
    """Cache an operation at one size and use it at two others: shape, strides and dtype match torch's."""

    def sized(*sizes: int) -> list[Tensor]:
        return lying(*(1 if axis in ones else size for axis, size in enumerate(sizes)))

    shapes = Shapes()
    told = 0
    for sizes in ((2, 3, 5), (7, 4, 6), (3, 9, 2)):
        for first in [*sized(*sizes), torch.empty(sizes[-1], device="meta")]:
            for second in [*sized(*sizes), torch.empty(sizes[1], 1, device="meta")]:
                args = (first > 0, first, second) if func is aten.where.self else (first, second)
                known = len(shapes.laid)
                out, truth = shapes.call(func, args, None), func(*args)
                told += len(shapes.laid) == known
                assert (out.shape, out.stride(), out.dtype) == (truth.shape, truth.stride(), truth.dtype)
    assert told >= 50  # of 75


@pytest.mark.parametrize(
    ("func", "args"),
    [
        (aten.t.default, (MATRIX,)),
        (aten._unsafe_view.default, (MATRIX, [15])),  # its schema does not mark it as a view
        (aten.add_.Tensor, (MATRIX, 1)),
        (aten.expand.default, (ROW, [3, 5])),
    ],
)
def test_a_view_always_shares_the_storage_of_its_argument(func: Any, args: Any) -> None:
    shapes = Shapes()
    for _ in range(3):
        out = shapes.call(func, args, None)
        assert out.untyped_storage()._cdata == args[0].untyped_storage()._cdata
    assert not any(shapes.made.values())


def noise() -> None:
    sys.stdout.write("printed")
    sys.stderr.write("printed")
    os.write(1, b"written")
    os.write(2, b"written")
    warnings.warn("warned", stacklevel=1)
    logging.getLogger("torch._subclasses.fake_tensor").error("logged")


def _fails_in_silence() -> None:
    with silence():
        noise()
        with silence():
            noise()
        assert sys.stdout is NOWHERE
        raise ZeroDivisionError


def test_output_is_silenced_and_restored_afterwards(capfd: pytest.CaptureFixture[str]) -> None:
    logger, handler = logging.getLogger("torch"), logging.StreamHandler(sys.stderr)  # it holds the current stream
    logger.addHandler(handler)
    before = sys.stdout, sys.stderr, logging.root.manager.disable
    try:
        with pytest.raises(ZeroDivisionError):
            _fails_in_silence()
        assert capfd.readouterr() == ("", "")
        assert (sys.stdout, sys.stderr, logging.root.manager.disable) == before
        sys.stdout.write("after\n")
        os.write(2, b"after")
        logger.error("after")
        assert capfd.readouterr() == ("after\n", "afterafter\n")
    finally:
        logger.removeHandler(handler)


def test_output_of_a_traced_model_is_not_part_of_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It prints at import, at every build and at every run, through Python and below; stdout has one JSON document."""
    (tmp_path / "noisy_model.py").write_text(NOISY)
    monkeypatch.chdir(tmp_path)
    arguments = ["trace", "noisy_model:build", "--inputs", "noisy_model:inputs", "-q", "flops", "--json"]
    result = CliRunner().invoke(cli, [*arguments, "--size", "E=5", "--size", "H=7"], catch_exceptions=False)
    assert json.loads(result.stdout)["formula"] == "2*B*S*E*H"
    assert result.stderr == ""
    assert capfd.readouterr() == ("", "")
    sys.modules.pop("noisy_model")


def test_verify_discards_the_output_of_its_models(capfd: pytest.CaptureFixture[str]) -> None:
    assert sf.verify("transformer-encoder-layer", quantity="flops").exact
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_the_counter_with_short_cuts_counts_as_torchs_own(mode: Any) -> None:
    """In inference mode, products reach the counter as operations that it must decompose, such as ``matmul``."""
    with torch.device("meta"):
        attention, mixer = nn.MultiheadAttention(12, 3), nn.Conv1d(7, 14, 5, groups=7)
        texts = [torch.empty(length, 2, 12) for length in (5, 11, 5)]
    totals = []
    for counter in (FlopCounterMode(display=False), FlopCounter()):
        with sdpa_kernel(SDPBackend.MATH), mode(), counter:
            for x in texts:
                attention(x, x, x)
                mixer(torch.empty(x.shape[1], 7, 9, device="meta"))
                x.transpose(0, 1) @ torch.empty(2, 12, len(x), device="meta")
        totals.append(counter.get_total_flops())
    assert totals[0] == totals[1] > 0


@pytest.mark.parametrize("backward", [False, True])
def test_recording_saved_tensors_leaves_none_in_memory(backward: bool) -> None:
    """The output of exp is saved by exp itself, and the graph has the recorder's hooks: both would form cycles."""
    model = nn.Linear(3, 5)
    weight = weakref.ref(model.weight)
    with record_saved(model, backward) as seen:
        output = model(torch.ones(2, 3)).exp().sum()
    if backward:
        output.backward()
    # the input of the layer, 2*3 elements, and the output of exp, 2*5 elements, each of 4 bytes
    assert sorted(seen.tally.rows.values()) == [(1, 2, 3, 4), (1, 2, 5, 4)]
    del model, output, seen
    assert weight() is None
