"""A run with numbers, of a model as small as its code takes: what no shape shows."""

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

from ..drawing import DEEP
from ..fitting import Point
from ..points import session
from ..results import Trace
from ..roles import Roles
from ..session import silence
from ..watching import Unmasked
from .looking import Calls, numbers_at, tied
from .sights import Sight

FEW = 11  # tokens of a run with numbers
DEEPER = 24  # layers of one that shows how often kinds of them come round
SMALL = 5  # keys in a window of such a run
CHUNKS = re.compile(
    "chunk|local(?!_expert)|block_size|stride|sparse|window(?!_pattern)"
)  # fields that a mask may hang on
PARAMETERS = 60_000_000  # that such a run has at most


def deeper(point: Point) -> Point:
    """The same with many layers."""
    return {**point, **{name: max(size, DEEPER) for name, size in point.items() if DEEP.search(name)}}


def real_sight(calls: Calls, point: Point, letters: Mapping[str, Symbol]) -> Sight | None:
    """A run with numbers; None where it has too many of them, or where the code takes none."""
    try:
        shapes = session(calls.build, point).model()
    except Exception:  # whatever somebody's code raises at so many layers
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
        except BaseException:  # whatever somebody's code raises where tensors hold numbers: then none are known
            return None
        finally:
            hook.remove()
    return Sight(seen, numbers_at(point, letters))


def _tokens(inputs: dict[str, Tensor], model: Any, args: Any, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Numbers instead of zeros: tokens that are none of the special ones, and segments; positions the model finds."""
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


def small(calls: Calls, trace: Trace, windows: Mapping[str, Symbol]) -> Point:
    """Sizes that the code takes, as small as they become by halves, from the least that it was seen with."""
    point: dict[str, int] = {**sorted(trace.checked, key=_depth)[0]}
    point |= {name: FEW + place for place, name in enumerate(each for each in ("S", "S_enc") if each in point)}
    point |= dict.fromkeys(windows, SMALL)
    point |= {name: size for name, size in (("B", 2), ("B_vis", 3)) if name in point}

    def takes(at: Point) -> bool:
        try:
            tried = session(calls.build, at)
            tried.run(lambda model: calls.call(model, at), Unmasked())  # type: ignore[no-untyped-call]
        except KeyboardInterrupt:
            raise
        except BaseException:  # whatever somebody's code raises, it does not take these
            return False
        return True

    for name in (each for each in point if CHUNKS.search(each) and each not in windows):  # else no mask shows them
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

    apart = ["$.", "vocab", *(f"^{re.escape(name)}$" for name in least)]  # all of them, or all but some
    for left in apart:  # token ids may be larger than a small vocabulary
        some = {name: size for name, size in least.items() if not re.search(left, name)}
        if light(tried := tied(trace, {**point, **some})):
            return tried
    for name, size in sorted(least.items(), key=lambda each: -point[each[0]]):
        tried = tied(trace, {**point, name: size})
        point = tried if takes(tried) else point
    for factor in (256, 60, 16, 4, 2, 2, 2):
        for name in sorted(moving, key=lambda each: -point[each]):
            smaller = tied(trace, {**point, name: point[name] // factor})
            whole = point[name] % factor == 0 and smaller[name] > 1
            point = smaller if whole and name not in least and takes(smaller) else point
    return point


# What the fields of a config that say so are made in a run with numbers, in the order that they are asked in.
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
    """What a size is made, by its name; 0 for one that says nothing."""
    found = next((least for word, least in LEAST if re.search(word, name.rpartition(".")[2])), 0)
    return min(found, size)


def _depth(point: Point) -> int:
    return prod(size for name, size in point.items() if DEEP.search(name))
