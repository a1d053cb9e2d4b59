"""A run with values, of a model as small as its code accepts, for everything that shapes do not show."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from math import prod
from typing import Any

import torch
from sympy import Symbol
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from ..dataflow_roles import Roles
from ..dispatch_recorders import UnmaskedMode
from ..interpolation import Point
from ..measured_points import session
from ..sampling import DEEP
from ..torch_session import silence
from ..trace_result import Trace
from .observations import Observation
from .observed_run import Calls, numbers_at, with_dependent_sizes

FEW = 11  # tokens of a run with values
DEEPER = 24  # layers of a run that shows how often layer kinds repeat
SMALL = 5  # keys in a window of such a run
CHUNKS = re.compile(
    "chunk|local(?!_expert)|block_size|stride|sparse|window(?!_pattern)"
)  # fields that may affect a mask
PARAMETERS = 60_000_000  # most parameters of such a run


def deep_point(point: Point) -> Point:
    """Return a point with many layers."""
    return {**point, **{name: max(size, DEEPER) for name, size in point.items() if DEEP.search(name)}}


def real_sight(calls: Calls, point: Point, letters: Mapping[str, Symbol]) -> Observation | None:
    """Return a run with values, or None if the model is too large or the code fails."""
    try:
        shapes = session(calls.build, point).model()
    except Exception:  # any error of the traced code at this depth
        return None
    if sum(each.numel() for each in shapes.parameters()) > PARAMETERS:
        return None
    with torch.random.fork_rng(), silence(), torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        torch.manual_seed(0)
        model = session(calls.build, point).model("cpu").eval()
        for parameter in model.parameters():
            wide = parameter.dim() > 1
            parameter.normal_(0, 0.5 * parameter.shape[-1] ** -0.5) if wide else parameter.uniform_(0.5, 1.5)
        inputs: dict[str, Tensor] = {}
        hook = model.register_forward_pre_hook(partial(_tokens, inputs), with_kwargs=True)
        seen = Roles(model, inputs)
        try:
            with seen:
                calls.call(model, point)
        except KeyboardInterrupt:
            raise
        except BaseException:  # any error of the traced code with real values
            return None
        finally:
            hook.remove()
    return Observation(seen, numbers_at(point, letters))


def _tokens(inputs: dict[str, Tensor], model: Any, args: Any, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Replace zeros by other token ids, none of them special, and segments; the model creates the positions."""
    config = model.config
    special = {value for name, value in vars(config).items() if name.endswith("_token_id") and isinstance(value, int)}
    rows = config.get_text_config().vocab_size
    some = [each for each in range(rows // 3, rows) if each not in special]
    kinds = getattr(config, "type_vocab_size", 0) or 1
    inputs.clear()
    for name, tensor in given.items():
        if not isinstance(tensor, Tensor) or tensor.is_floating_point():
            continue
        if name == "token_type_ids":
            inputs["segments"] = torch.arange(tensor.numel()).view(tensor.shape) ** 2 % 3 % kinds
        elif name.endswith("input_ids"):
            places = torch.arange(tensor.numel()).view(tensor.shape) ** 2 * 5 + 3 * (name != "input_ids")
            inputs["tokens" if name == "input_ids" else name] = torch.tensor(some)[places % len(some)]
    ours = {"tokens": "input_ids", "segments": "token_type_ids"}
    changed = {ours.get(name, name): tensor for name, tensor in inputs.items()}
    return args, {name: changed.get(name, value) for name, value in given.items() if name != "position_ids"}


def tiny_point(calls: Calls, trace: Trace, windows: Mapping[str, Symbol]) -> Point:
    """Return sizes that the code accepts, reduced as far as possible from the smallest ones of the trace."""
    point: dict[str, int] = {**sorted(trace.checked, key=_depth)[0]}
    point |= {name: FEW + place for place, name in enumerate(each for each in ("S", "S_enc") if each in point)}
    point |= dict.fromkeys(windows, SMALL)
    point |= {name: size for name, size in (("B", 2), ("B_vis", 3)) if name in point}

    def takes(at: Point) -> bool:
        try:
            tried = session(calls.build, at)
            tried.run(lambda model: calls.call(model, at), UnmaskedMode())  # type: ignore[no-untyped-call]
        except KeyboardInterrupt:
            raise
        except BaseException:  # any error of the traced code: it rejects these sizes
            return False
        return True

    for name in (each for each in point if CHUNKS.search(each) and each not in windows):  # so that masks show them
        point = {**point, name: SMALL} if takes({**point, name: SMALL}) else point
    held = {
        "B",
        "B_vis",
        "S",
        "S_enc",
        *windows,
        *(each for each in point if CHUNKS.search(each)),
        *trace.ties,
        *(each.name for each in trace.pinned),
    }
    least = {name: size for name in point if name not in held and (size := _least(name, point[name]))}
    moving = [name for name in point if name in trace.letters and name not in held]

    def light(at: Point) -> bool:
        return takes(at) and sum(each.numel() for each in session(calls.build, at).model().parameters()) < PARAMETERS

    apart = ["$.", "vocab", *(f"^{re.escape(name)}$" for name in least)]  # reduce all, or all but one
    for left in apart:  # token ids may exceed a small vocabulary
        some = {name: size for name, size in least.items() if not re.search(left, name)}
        if light(tried := with_dependent_sizes(trace, {**point, **some})):
            return tried
    for name, size in sorted(least.items(), key=lambda each: -point[each[0]]):
        tried = with_dependent_sizes(trace, {**point, name: size})
        point = tried if takes(tried) else point
    for factor in (256, 60, 16, 4, 2, 2, 2):
        for name in sorted(moving, key=lambda each: -point[each]):
            smaller = with_dependent_sizes(trace, {**point, name: point[name] // factor})
            whole = point[name] % factor == 0 and smaller[name] > 1
            point = smaller if whole and name not in least and takes(smaller) else point
    return point


# The values of fields with such names in a run with values, by the first pattern that matches.
LEAST = (
    ("vocab", 96),
    ("position|n_ctx", 64),
    ("rotary|rope", 8),
    ("per_tok|top_?k|moe_k", 2),
    ("expert", 4),
    ("key_value|kv_heads|n_kv|group", 2),
    ("head_dim|kv_channels|d_kv", 16),
    ("head", 4),
    ("hidden_size$|d_model|n_embd|embed_dim", 64),
    ("intermediate|ffn|n_inner|d_?ff", 48),
    ("lora|rank", 24),
    ("(dim|size|width)$", 32),
)


def _least(name: str, size: int) -> int:
    """Return the value of a size in a small run, by its name, or 0 if the name matches no pattern."""
    found = next((least for word, least in LEAST if re.search(word, name.rpartition(".")[2])), 0)
    return min(found, size)


def _depth(point: Point) -> int:
    return prod(size for name, size in point.items() if DEEP.search(name))
