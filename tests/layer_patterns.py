"""Random configs of every causal model type with a layer pattern, compared with torch.

``python -m tests.layer_patterns [N] [--seed=K] [--workers=W] [TYPE...]`` draws N configs (300 by default) and prints
how many answers are right, refused and wrong. The exit status is 1 if any is wrong. With ``--alone`` it uses only the
catalogue and traces nothing. A traced config takes about twenty CPU seconds in one of W processes (1 by default).
"""

from __future__ import annotations

import inspect
import json
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import torch

from symformer.architectures.base_architecture import Architecture
from symformer.catalogue.config_match import find
from symformer.catalogue.record import model_of_records
from symformer.language.errors import CatalogueError, SymformerError
from symformer.language.symbols import K, X
from symformer.models.model import Model
from symformer.targets.resolution import model as opened_at_the_door
from symformer.witness.measured_points import session
from symformer.witness.model_calls import call_spec, caller_for
from symformer.witness.run_traces import RUNS
from symformer.witness.torch_session import differentiable_outputs, tensors_of
from symformer.witness.transformers_classes import TracedClass, of_config, of_head, types
from symformer.witness.worker_pool import LostJob, run_jobs

MANY = 300  # configs
LIMIT = 600  # seconds for one, far above its CPU time, because other processes may use the machine
BATCH = 3
LENGTHS = (7, 21, 67)  # tokens in the cache: below and above most sampled windows
WINDOWS = (5, 8, 13, 29, 40)
PERIODS = (1, 2, 3, 4, 5)
DEPTHS = range(2, 13)
KINDS = "layer_types"  # the field that lists the kind of every layer
DEPTH = "num_hidden_layers"
# Config fields for the period of a layer kind, and for how far a layer looks back.
PERIOD = re.compile(r"pattern$|interval$|period$|every_n|sparse_step$|layer_step$")
WINDOW = re.compile(r"^(sliding_window(_size)?|attention_chunk_size)$")
ARGUMENT = re.compile(r"kwargs\.(?:get|pop)\(\s*\"(\w+)\"")  # a field that only the constructor reads
ASKED = ("kv-cache", "decode-flops", "inference-memory")
OWN = "_sliding_window_pattern"  # written by transformers itself, which reads the field without the underscore
SMALL: Mapping[str, Any] = {
    "vocab_size": 101,
    "hidden_size": 32,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "intermediate_size": 20,
    **dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id")),
}
# Configs with two kinds of layers, of which a shallow model or a long period shows only one, and the bytes of torch's
# past_key_values for two sequences of 21 tokens in fp32: 2 * 2 * 8 * 4 * 2 = 256 bytes per token and layer.
LISTED: Mapping[str, tuple[Mapping[str, Any], int]] = {
    # 3 windows of 8, which keep 7 tokens, and 1 layer of 21: 256 * (3*7 + 21)
    "exaone4, period 3": ({**SMALL, "model_type": "exaone4", "sliding_window": 8, "sliding_window_pattern": 3}, 10_752),
    # 256 * (2*7 + 2*21)
    "exaone4, period 2": ({**SMALL, "model_type": "exaone4", "sliding_window": 8, "sliding_window_pattern": 2}, 14_336),
    # 256 * (4*7 + 2*21)
    "gemma3, period 3": (
        {**SMALL, "model_type": "gemma3_text", "sliding_window": 8, "sliding_window_pattern": 3, DEPTH: 6},
        17_920,
    ),
    # every fourth layer without rotary positions has the window: 256 * (3*21 + 7)
    "smollm3": ({**SMALL, "model_type": "smollm3", "sliding_window": 8, "use_sliding_window": True}, 17_920),
    # three chunks of 8 for each layer without: 256 * (3*7 + 21)
    "llama4, chunks of 8": ({**SMALL, "model_type": "llama4_text", "attention_chunk_size": 8}, 10_752),
    # chunks of 8,192, which 21 tokens do not fill: 256 * 8*21
    "llama4, 8 layers": ({**SMALL, "model_type": "llama4_text", DEPTH: 8}, 43_008),
}


@dataclass(frozen=True)
class Family:
    """The fields sampled for one model type."""

    source: TracedClass
    kinds: tuple[str, ...]  # of layers that a config may list
    periods: tuple[str, ...]  # fields
    windows: tuple[str, ...]
    switches: tuple[str, ...]


def families(only: Sequence[str] = ()) -> Iterator[Family]:
    """Yield every causal model type whose config distinguishes kinds of layers."""
    for model_type in types("causal"):
        if only and model_type not in only:
            continue
        try:
            source = of_head(model_type, "causal")
            config = source.config({})
        except Exception:  # noqa: S112 - a type that transformers cannot import or build
            continue
        fields = config.to_dict()
        if source.part or not isinstance(fields.get(DEPTH), int):
            continue
        listed = fields.get(KINDS)
        kinds = set(listed) if isinstance(listed, list) else set()
        windows = tuple(name for name in fields if WINDOW.search(name))
        if kinds and "sliding_window" in windows:
            kinds |= {"full_attention", "sliding_attention"}
        arguments = ARGUMENT.findall(inspect.getsource(source.config_class))
        periods = {name for name in (*fields, *arguments) if PERIOD.search(name) and "sparsity" not in name}
        if kinds or periods or windows:
            switches = tuple(name for name in fields if name == "use_sliding_window")
            yield Family(
                source, tuple(sorted(kinds)), tuple(sorted(periods - {"_sliding_window_pattern"})), windows, switches
            )


def drawn(family: Family, draw: random.Random) -> dict[str, Any]:
    """Return a random config; some list the kind of every layer, some give a period, and some state every field."""
    depth = draw.choice(DEPTHS)
    fields: dict[str, Any] = {DEPTH: depth}
    fields |= {name: draw.choice(WINDOWS) for name in family.windows if draw.random() < 0.8}
    fields |= {name: draw.random() < 0.7 for name in family.switches}
    way = draw.random()
    if family.kinds and (way < 0.4 or not family.periods):
        period = draw.choice((*PERIODS, depth))
        cycle = [draw.choice(family.kinds) for _ in range(period)]
        fields[KINDS] = [cycle[layer % period] for layer in range(depth)]
    elif way < 0.9:
        fields |= {name: draw.choice(PERIODS) for name in family.periods}
    named = {"model_type": family.source.model_type, "architectures": [family.source.name]}
    if draw.random() < 0.3:
        try:
            whole = family.source.config(fields).to_dict()
        except Exception:
            return {**fields, **named}
        return {**whole, **named}
    return {**fields, **named}


def by_torch(config: Mapping[str, Any], tokens: int) -> dict[str, int]:
    """Return each quantity after this many tokens, counted by torch under the default conventions."""
    source = of_config(config, "config.json")
    own = source.own(config, "config.json")
    fields = {name: value for name, value in own.items() if name != "architectures"}
    at = session(lambda point: source.build(fields).to(torch.bfloat16), {})
    run, point = caller_for(call_spec(source), RUNS["kv-cache"]), {"B": BATCH, "C": tokens, "B_vis": BATCH}
    outputs = [at.run(partial(run, point=point))]
    # The states of linear attention stay in fp32.
    held = sum(each.numel() * each.element_size() for each in tensors_of(outputs[0].past_key_values).values())

    def one_more(model: Any) -> Any:
        outputs.append(run(model, point, after=outputs[0]))
        return outputs[-1]

    flops = int(at.flops(one_more).get_total_flops())
    stored = sum(map(prod, at.stored().values()))
    logits = sum(each.numel() for each in differentiable_outputs(outputs[-1]))
    assert min(held, flops, stored, logits) > 0
    return {"kv-cache": held, "decode-flops": flops, "inference-memory": 2 * stored + held + 4 * logits}


def asked(config: Mapping[str, Any], alone: bool = False, quantities: Sequence[str] = ASKED) -> dict[str, str]:
    """Return for each quantity whether symformer's answer is right, refused or wrong.

    With ``alone``, only the catalogue is used. The result is empty if torch cannot build or run the model.
    """
    theirs = {}
    for tokens in LENGTHS:
        try:
            theirs[tokens] = by_torch(config, tokens)
        except Exception:
            return {}
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "config.json")
        place.write_text(json.dumps(config))
        try:
            model = _opened(str(place), config, alone)
        except SymformerError as error:
            return dict.fromkeys(quantities, f"refused: {str(error).replace(folder, '')}")
        for quantity in quantities:
            try:
                formula = model.formula(quantity)
                sizes = [str(size) for size in formula.dependencies]
                for tokens, known in theirs.items():
                    given = {name: value for name, value in (("B", BATCH), ("C", tokens)) if name in sizes}
                    if (value := formula.value(**given)) != known[quantity]:
                        found[quantity] = f"wrong: {value:,} for {known[quantity]:,} at C={tokens}"
                        break
                else:
                    found[quantity] = "right"
            except SymformerError as error:
                found[quantity] = f"refused: {str(error).replace(folder, '')}"
    return found


def _opened(path: str, config: Mapping[str, Any], alone: bool) -> Model:
    if not alone:
        model = opened_at_the_door(path)
        if isinstance(model.component, Architecture) and model.component.witness.every_expert:
            return model.set({K: model.known[X]})  # torch counts the FLOPs of all experts, whatever K is
        return model
    if (known := find(config)) is None:
        raise CatalogueError("the catalogue does not know it")
    return model_of_records(path, known)


def jobs(many: int, only: Sequence[str] = (), seed: int = 1) -> list[dict[str, Any]]:
    """Return ``many`` configs: the listed ones, then random ones of each type in turn."""
    known = [*families(only)]
    draw = random.Random(seed)  # noqa: S311
    listed = [dict(config) for config, _ in LISTED.values() if not only or config["model_type"] in only]
    return [*listed, *(drawn(known[turn % len(known)], draw) for turn in range(many))][:many]


def main(words: Sequence[str]) -> int:
    """Compare many configs and print each answer that is not right."""
    alone = "--alone" in words
    many = next((int(word) for word in words if word.isdigit()), MANY)
    seed, workers = _number(words, "--seed="), _number(words, "--workers=")
    configs = jobs(many, [word for word in words if not word.isdigit() and word[0] != "-"], seed)
    told: Counter[str] = Counter()
    with closing(run_jobs(_asked, [(json.dumps(each), alone) for each in configs], workers, LIMIT)) as answers:
        for (config, _), answer in answers:
            said = {"every quantity": f"refused: {answer.why}"} if isinstance(answer, LostJob) else answer
            told["configs that torch runs"] += bool(said)
            for quantity, what in said.items():
                told[f"{quantity} {what.partition(':')[0]}"] += 1
                if what != "right" and not (alone and what.startswith("refused")):
                    print(f"{quantity}: {what[:300]}: {config[:600]}", flush=True)  # noqa: T201
    print(dict(sorted(told.items())))  # noqa: T201
    return int(any("wrong" in name for name in told))


def _number(words: Sequence[str], option: str) -> int:
    return next((int(word.removeprefix(option)) for word in words if word.startswith(option)), 1)


def _asked(config: str, alone: bool) -> dict[str, str]:
    return asked(json.loads(config), alone)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
