"""Layouts: the fullest rank of every layout against the parameters of transformers' classes, cut by hand."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import pytest
import torch
from click.testing import CliRunner
from transformers import CONFIG_MAPPING, AutoModelForCausalLM

import symformer as sf
from symformer.algebra.layouts import Layouts, layouts
from symformer.algebra.rank_amounts import RankAmounts, stage_layers, stage_sizes
from symformer.architectures import presets
from symformer.commands.cli import cli
from symformer.language.errors import OptionError, RuleError, SizeError
from tests.samples import sampled

MOST = 13  # devices
SHARED = {"vocab_size": 480, "num_attention_heads": 12, "head_dim": 20, "hidden_size": 96}
CONFIGS: dict[str, list[dict[str, Any]]] = {
    "llama": [
        {"num_hidden_layers": 7, "num_key_value_heads": 2, "intermediate_size": 120, "tie_word_embeddings": False},
        {"num_hidden_layers": 5, "num_key_value_heads": 4, "intermediate_size": 240, "tie_word_embeddings": True},
        {"num_hidden_layers": 9, "num_key_value_heads": 12, "intermediate_size": 360, "tie_word_embeddings": False},
    ],
    "gemma2": [
        {"num_hidden_layers": 7, "num_key_value_heads": 3, "intermediate_size": 240, "sliding_window": 11},
        {"num_hidden_layers": 4, "num_key_value_heads": 6, "intermediate_size": 120, "sliding_window": 23},
    ],
    "qwen3_moe": [
        {
            **{"num_hidden_layers": 6, "num_key_value_heads": 2, "intermediate_size": 84, "moe_intermediate_size": 72},
            **{"num_experts": 10, "num_experts_per_tok": 3, "tie_word_embeddings": False},
        },
        {
            **{"num_hidden_layers": 3, "num_key_value_heads": 4, "intermediate_size": 84, "moe_intermediate_size": 48},
            **{"num_experts": 6, "num_experts_per_tok": 2, "tie_word_embeddings": False},
        },
    ],
    "gpt_oss": [
        {
            **{"num_hidden_layers": 5, "num_key_value_heads": 2, "intermediate_size": 120, "sliding_window": 9},
            **{"num_local_experts": 8, "num_experts_per_tok": 2, "tie_word_embeddings": False},
        },
    ],
}
CASES = [(kind, place) for kind, configs in CONFIGS.items() for place in range(len(configs))]


class Layout(NamedTuple):
    tp: int
    pp: int
    ep: int
    dp: int


@cache
def config_of(kind: str, place: int) -> Any:
    return CONFIG_MAPPING[kind](**SHARED, **CONFIGS[kind][place])


@cache
def parameters(kind: str, place: int) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return the name and the shape of every parameter of the class in transformers."""
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config_of(kind, place))
    return tuple((name, tuple(each.shape)) for name, each in model.named_parameters())


def cut(name: str, shape: tuple[int, ...], heads: int, layout: Layout) -> int:
    """Return the elements of a parameter that one rank stores."""
    elements = 1
    for size in shape:
        elements *= size
    if ".experts." in name:
        own = elements // layout.ep
        return own if name.endswith("down_proj_bias") else own // layout.tp
    if any(part in name for part in ("k_proj", "v_proj")):
        return elements // heads * max(1, heads // layout.tp)
    if "o_proj.bias" in name:
        return elements
    divided = ("q_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "embed_tokens", "lm_head", "sinks")
    return elements // layout.tp if any(part in name for part in divided) else elements


def rank_bytes(kind: str, place: int, layout: Layout, stage: int, batch: int, context: int) -> int:
    """Return the bytes of one stage in bf16, with float32 logits."""
    config = config_of(kind, place)
    heads, last = config.num_key_value_heads, stage == layout.pp - 1
    sizes = stage_sizes(config.num_hidden_layers, layout.pp)
    layers = range(sum(sizes[:stage]), sum(sizes[: stage + 1]))
    total = 0
    for name, shape in parameters(kind, place):
        words = name.split(".")
        if "layers" in words:
            here = int(words[words.index("layers") + 1]) in layers
        elif "embed_tokens" in name:  # a tied head is a copy on the last stage
            here = stage == 0 or (last and config.tie_word_embeddings)
        else:
            here = last
        total += 2 * cut(name, shape, heads, layout) if here else 0
    for layer in layers:
        window = getattr(config, "sliding_window", None)
        local = window and config.layer_types[layer] == "sliding_attention"
        tokens = min(context, window - 1) if local else context
        total += 2 * 2 * batch * tokens * max(1, heads // layout.tp) * config.head_dim
    return total + (4 * batch * config.vocab_size // layout.tp if last else 0)


def possible(kind: str, place: int, devices: int, batch: int) -> Iterator[Layout]:
    """Yield every layout of some devices that the sizes allow."""
    config = config_of(kind, place)
    experts = getattr(config, "num_experts", 0) or getattr(config, "num_local_experts", 0)
    width = getattr(config, "moe_intermediate_size", config.intermediate_size)
    every = range(1, devices + 1)
    for tp, pp, ep in ((tp, pp, ep) for tp in every for pp in every for ep in every if devices % (tp * pp * ep) == 0):
        dp = devices // (tp * pp * ep)
        heads = config.num_key_value_heads
        whole = all(size % tp == 0 for size in (config.num_attention_heads, config.vocab_size, width))
        shared = heads % tp == 0 or tp % heads == 0
        spread = ep == 1 or (experts and experts % ep == 0)
        if whole and shared and spread and pp <= config.num_hidden_layers and batch % (dp * ep) == 0:
            yield Layout(tp, pp, ep, dp)


@pytest.mark.parametrize(("kind", "place"), sampled(2, CASES))
@pytest.mark.parametrize("seed", sampled(2, [1, 2]))
def test_the_fullest_rank_is_that_of_the_parameters_cut_by_hand(kind: str, place: int, seed: int) -> None:
    """Every layout of 1 to 13 devices: 16 configs and loads, so 208 problems."""
    draw = random.Random(f"{kind} {place} {seed}")  # noqa: S311
    batch, context = draw.choice([12, 18, 20, 36]), draw.randint(3, 60)
    model = sf.model(config_of(kind, place))
    single = next(possible(kind, place, 1, batch))
    room = rank_bytes(kind, place, single, 0, batch, context) // draw.choice([2, 3, 4])
    found = layouts(
        model, devices=range(1, MOST + 1), memory=room, sizes={"B": batch, "C": context}, weights="bf16", limit=10**5
    )
    rows = found.to_json()["layouts"]
    ours = {(row["devices"], row["tp"], row["pp"], row["ep"], row["dp"]): row for row in rows}
    theirs = {
        (devices, *layout): max(
            rank_bytes(kind, place, layout, stage, batch // (layout.dp * layout.ep), context)
            for stage in range(layout.pp)
        )
        for devices in range(1, MOST + 1)
        for layout in possible(kind, place, devices, batch)
    }
    assert len(theirs) > 2 * MOST
    assert {key: row["memory"] for key, row in ours.items()} == theirs
    assert {key for key, row in ours.items() if row["fits"]} == {key for key, size in theirs.items() if size <= room}
    order = [(row["devices"], row["memory"]) for row in rows if row["fits"]]
    assert order == sorted(order)


def test_bytes_sent_and_flops_of_a_stage_are_those_of_its_layers() -> None:
    """A Llama of 7 layers on 3 stages (2, 3, 2) of 2 ranks: the middle stage has the most work and sends the most."""
    found = run("llama", 0, 6, batch=10, context=31, kinds={"tp": 2, "pp": 3})
    config = config_of("llama", 0)
    width, batch, ranks = config.hidden_size, 10, 2
    reduced = 2 * (ranks - 1) * batch * width * 2 // ranks  # a ring all-reduce of [B, 1, E] in bf16
    # the middle stage: two all-reduces in each of 3 layers, and the message to the next stage
    assert found["sent"] == 3 * 2 * reduced + batch * width * 2
    inner = config.num_attention_heads * config.head_dim
    outer = config.num_key_value_heads * config.head_dim
    matrices = 2 * inner * width + 2 * outer * width + 3 * config.intermediate_size * width
    layer = 2 * batch * matrices // ranks + 4 * batch * (31 + 1) * inner // ranks
    head = 2 * batch * config.vocab_size * width // ranks
    assert found["flops"] == max(3 * layer, 2 * layer + head)
    assert found["layers"] == [2, 3, 2]


def run(kind: str, place: int, devices: int, batch: int, context: int, kinds: dict[str, int]) -> dict[str, Any]:
    found = layouts(
        sf.model(config_of(kind, place)),
        devices=devices,
        memory="1TB",
        sizes={"B": batch, "C": context},
        weights="bf16",
        limit=1000,
    )
    (row,) = (
        row
        for row in found.to_json()["layouts"]
        if all(row[name] == kinds.get(name, 1) for name in ("tp", "pp", "cp", "ep", "dp"))
    )
    return dict(row)


@pytest.mark.exhaustive
def test_training_of_even_stages_agrees_with_the_formulas_of_stages() -> None:
    model = sf.architecture("gpt2-large")  # 36 layers, 20 heads
    found = layouts(
        model,
        devices=8,
        memory="80GB",
        sizes={"B": 48, "S": 64},
        train=True,
        micro_batch=2,
        vocab="padded",
        limit=10**4,
    )
    rows = [row for row in found.to_json()["layouts"] if row["pp"] in (2, 4) and row["cp"] == 1]
    assert len(rows) > 20
    for row in rows:
        options = {"recipe": "bf16", "implementation": "megatron", "recompute": row["recompute"], "vocab": "padded"}
        options |= {"tensor": "on"} if row["tp"] > 1 else {}
        options |= {"data": row["zero"]} if row["zero"] != "off" else {}
        sizes = {"N_tp": row["tp"]} if row["tp"] > 1 else {}
        sizes |= {"N_dp": row["dp"]} if row["zero"] != "off" else {}
        middles = [{"pipeline": "middle", "I_pp": place} for place in range(1, row["pp"] - 1)]
        stages = [{"pipeline": "first"}, {"pipeline": "last"}, *middles]
        assert 48 // row["dp"] // 2 >= row["pp"]  # enough micro-batches to fill every stage
        assert row["memory"] == max(
            model.formula("train-memory", **options, pipeline=str(stage.pop("pipeline"))).value(
                N_pp=row["pp"], B=2, S=64, **sizes, **stage
            )
            for stage in stages
        ), row


def test_a_training_step_of_few_micro_batches_stores_no_more_of_their_activations() -> None:
    """One micro-batch in all: each stage stores the activations of one, not of as many as there are stages."""
    model, sizes = sf.architecture("gpt2-large"), {"B": 1, "S": 64}
    one, many = (
        layouts(model, devices=4, memory="80GB", sizes=each, train=True, recompute="none")
        for each in (sizes, {**sizes, "B": 4})
    )
    few, full = (next(row for row in each.to_json()["layouts"] if row["pp"] == 4) for each in (one, many))
    first = model.formula("train-memory", recipe="bf16", implementation="megatron", pipeline="first")
    assert full["memory"] == first.value(N_pp=4, B=1, S=64)
    stage = model.formula("activations", implementation="megatron", dtype="bf16", pipeline="middle")
    copy = stage.value(N_pp=4, I_pp=3 - 1, B=1, S=64) // 2  # two micro-batches are in flight there
    assert full["memory"] - few["memory"] >= 3 * copy > 0


def test_vllm_divides_layers_in_this_way() -> None:
    """The examples of vLLM's get_pp_indices: DeepSeek-V3's 61 layers on 2 and 4 stages, 22 layers on 4."""
    assert stage_sizes(61, 2) == [31, 30]
    assert stage_sizes(61, 4) == [15, 15, 16, 15]
    assert stage_sizes(22, 4) == [5, 6, 6, 5]
    assert stage_sizes(5, 4) == [1, 1, 2, 1]


def command(*arguments: str) -> tuple[int, str, str]:
    found = CliRunner().invoke(cli, ["layout", *arguments], prog_name="symformer")
    return found.exit_code, found.stdout, found.stderr


def test_llama_405b_on_16_devices() -> None:
    """The only layout with equal stages and no copies of key/value heads that fits."""
    given = ("llama-3.1-405b", "--gpus", "16", "--memory", "80GiB", "--set", "B=32", "--set", "C=8192")
    status, printed, _ = command(*given)
    assert status == 0
    assert "tp 8, pp 2 has the fewest bytes on its fullest device: 59,193,085,952" in printed
    status, printed, _ = command(*given, "--even", "--json")
    fitting = [row for row in json.loads(printed)["layouts"] if row["fits"]]
    assert [(row["tp"], row["pp"], row["dp"], row["memory"]) for row in fitting] == [(8, 2, 1, 59_193_085_952)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["gpt2", "--gpus", "4", "--memory", "1GB"],
            "layout needs a value for B (batch size) and C (tokens already in",
        ),
        (["gpt2", "--gpus", "4"], "give the memory of one device"),
        (["gpt2", "--gpus", "0", "--memory", "1GB"], "devices=0 is not supported; give a number such as 16"),
        (["gpt2", "--gpus", "x", "--memory", "1GB"], "devices=x is not supported"),
        (["gpt2", "--memory", "1GB", "--gpu", "h200"], "--memory and --gpu cannot be combined"),
        (["gpt2", "--memory", "1GB", "--share", "120%"], "give a percentage above 0% and at most 100%"),
        (["gpt2", "--memory", "1GB", "--option", "pipeline=first"], "pipeline=first is not supported by layout"),
        (["gpt2", "--memory", "1GB", "--set", "N_tp=2"], "N_tp"),
        (["gpt2", "--memory", "1GB", "--set", "B=1", "--set", "C=9", "--option", "nope=1"], "nope"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], said: str) -> None:
    status, printed, error = command(*arguments)
    assert (status, printed) == (2, "")
    assert said in error
    assert error.count("\n") <= 4


def test_models_without_a_layout_say_why() -> None:
    status, printed, _ = command(
        *("nemotron-nano-9b-v2", "--gpus", "2", "--memory", "4GB", "--set", "B=3", "--set", "C=500")
    )
    assert status == 1
    assert (
        "layouts with tp are not supported: ssm_layers.*.mixer.scan: a scan is not supported with tensor=on" in printed
    )
    assert "no layout fits; the closest, pp 2, needs" in printed
    status, printed, _ = command(
        "nemotron-3-nano-4b", "--gpus", "2", "--memory", "9GB", "--set", "B=3", "--set", "C=500"
    )
    assert "need the order of its 42 layers of 3 kinds, which is not known; give its config.json" in printed


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("esm2-8m", "contact_head.regression depends on the number of all layers"),  # a weight for each head of a layer
        ("albert-base", "layers that share weights are not supported with pipeline stages"),
        ("bart-base", "which is computed before the layers"),
        ("sd3-medium", "pipeline stages do not support a list of L - 1 layers"),
    ],
)
def test_stages_are_refused_if_their_layers_cannot_be_counted(target: str, said: str) -> None:
    with pytest.raises(RuleError, match=said):
        sf.model(target).stage_formula("params", pipeline="middle")


PRESETS = {facts["architecture"]: name for name, facts in reversed(presets().items())}  # the first of each


# Their layers share weights, read more than the previous layer, or have an order that the preset does not state.
NO_STAGES = frozenset(
    {"albert", "bare-bones-transformer-lm", "bart", "clip", "deberta-v2", "dit", "esm", "feed-forward-lm", "flux"}
    | {"gemma3n", "gpt-neo", "m2m-100", "mbart", "modernbert", "mt5", "qwen3-vl", "rwkv7", "sam", "sd3", "siglip"}
    | {"t5", "t5gemma", "transformer", "transformer-decoder-layer", "transformer-encoder-layer", "umt5", "whisper"}
    | {"zamba2"}
)


@pytest.mark.parametrize("architecture", sampled(12, sorted(PRESETS)))
def test_the_stages_of_a_model_sum_to_it(architecture: str) -> None:
    """Each weight and each layer's cache is on one stage; a tied head is a copy of the table on the last one."""
    model = sf.model(PRESETS[architecture])
    if architecture in NO_STAGES:
        with pytest.raises(RuleError):
            RankAmounts(model, "params", {}).stages({})
        return
    for quantity, sizes in (("params", {}), ("kv-cache", {"B": 3, "C": 500})):
        try:
            whole = model.formula(quantity).value(**sizes)
        except (RuleError, SizeError):
            assert quantity == "kv-cache"  # a model without a cache
            continue
        parts = RankAmounts(model, quantity, {}).stages(sizes)
        layers = stage_layers(parts.order, 3)
        places = ("first", "middle", "last")
        total = sum(parts.once[place].of(each, None) for place, each in zip(places, layers, strict=True))
        table = {int(weight.shape[0].subs(model.known)) * int(weight.shape[1].subs(model.known))
                 for _, entry in model.ledger for weight in entry.shared if len(weight.shape) == 2}  # fmt: skip
        assert total - whole in {0, *(table if quantity == "params" else ())}, quantity


def test_python_refuses_what_the_command_refuses() -> None:
    with pytest.raises(OptionError, match="by=speed is not supported; choose from memory, sent, flops"):
        layouts("gpt2", devices=2, memory="1GB", sizes={"B": 1, "C": 2}, by="speed")
    with pytest.raises(SizeError, match="layout needs a value for S"):
        layouts("gpt2", devices=2, memory="1GB", sizes={"B": 1}, train=True)
    found = layouts("gpt2", devices=1, memory="1GB", sizes={"B": 1, "C": 2})
    assert isinstance(found, Layouts)
    assert found.table()["memory"] == [sf.model("gpt2").formula("inference-memory").value(B=1, C=2)]


def test_decoding_sends_nothing_of_an_encoder_or_a_vision_tower() -> None:
    """Two ranks all-reduce 2*(1/2)*B*E*2 bytes after the token embedding and after each attention and MLP of a decoder.

    Whisper large-v3 has 32 decoder layers with three such blocks, E=1280. Gemma 3 27B has 62 with two, E=5376.
    """
    for name, blocks, width in (("whisper-large-v3", 32 * 3, 1280), ("gemma-3-27b", 62 * 2, 5376)):
        rows = layouts(name, devices=2, memory="80GiB", sizes={"B": 6, "C": 100}).table()
        assert rows["sent"][rows["tp"].index(2)] == (blocks + 1) * 6 * width * 2


def test_more_tokens_than_positions_are_refused() -> None:
    with pytest.raises(
        SizeError,
        match=re.escape("P=448 (learned positions) is less than C + 1=449; choose fewer tokens or more positions"),
    ):
        layouts("whisper-large-v3", devices=2, memory="80GiB", sizes={"B": 6, "C": 448})


def test_sentences_on_devices() -> None:
    def said(devices: str) -> list[str]:
        arguments = ["layout", "llama-3-8b", "--gpus", devices, "--memory", "10GiB", "--set", "B=3", "--set", "C=100"]
        return CliRunner().invoke(cli, arguments).output.splitlines()

    # 8.0 billion parameters of 2 bytes need more than one device of 10 GiB.
    assert said("1,2,4")[1].startswith("1, 2 or 4 devices of")
    assert said("1:2")[1].startswith("1 to 2 devices of")
    assert said("1:2")[-1].startswith("the fewest devices on which a layout fits: 2 devices; on them, tp 2 has")
    found = layouts("llama-3-8b", devices=7, memory="10GiB", sizes={"B": 3, "C": 100}, even=True)
    assert found.verdict.endswith("no degrees divide the sizes of the model and B")
    gpt2: dict[str, Any] = {"devices": 2, "memory": "10GiB", "sizes": {"B": 2, "S": 100}, "train": True}
    with pytest.raises(OptionError, match="recompute=full has no effect with implementation=none"):
        layouts("gpt2", **gpt2, recompute="full", implementation="none")
    with pytest.raises(OptionError, match="data=replicated is not supported by layout for training; choose from off"):
        layouts("gpt2", **gpt2, data="replicated")
    with pytest.raises(OptionError, match="decoding has no micro-batches"):
        layouts("llama-3-8b", devices=2, memory="10GiB", sizes={"B": 3, "C": 100}, micro_batch=2)


@pytest.mark.exhaustive
def test_the_workers_of_a_client_find_the_same_layouts() -> None:
    from dask.distributed import Client

    given: dict[str, Any] = {"devices": "1:12", "memory": "1MB", "sizes": {"B": 12, "C": 31}, "weights": "bf16"}
    model = sf.model(config_of("qwen3_moe", 1))
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        spread = layouts(model, client=client, **given)
    alone = layouts(model, **given)
    assert alone.count > 40
    assert spread.table() == alone.table()
    assert spread.refused == alone.refused


def test_numbers_above_64_bits_are_exact() -> None:
    """10**9 sequences of 10**6 tokens: every product and the scores are computed 3 times as often as in a forward pass.

    Llama 3 8B multiplies each token with 32*(2*4096*4096 + 2*4096*1024 + 3*4096*14336) + 128256*4096 weights.
    """
    run: dict[str, Any] = {"memory": "1e30", "sizes": {"B": 10**9, "S": 10**6}, "train": True}
    rows = layouts("llama-3-8b", devices=2, implementation="none", **run).table()
    layer = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336
    scores = 4 * 4096 * 10**6
    for place, (tensor, stages) in enumerate(zip(rows["tp"], rows["pp"], strict=True)):
        layers = 32 // stages
        head = 2 * 128256 * 4096 // tensor
        token = layers * (2 * layer + scores) // tensor + head
        ranks = rows["cp"][place] * rows["dp"][place]
        assert rows["flops"][place] == 3 * 10**15 * token // ranks
    assert max(rows["flops"]) > 2**63


def test_missing_exabytes_have_a_unit() -> None:
    """10**21 tokens of 32*8*128*2*2 bytes and 10**12 rows of 128,256 logits of 4 bytes, less 100 EB."""
    arguments = ["layout", "llama-3-8b", "--gpus", "1", "--memory", "1e20", "--set", f"B={10**12}"]
    arguments += ["--set", f"C={10**9}"]
    assert "131,071,900.51 EB short" in CliRunner().invoke(cli, arguments).output


def test_every_size_without_a_value_is_named_with_a_remedy() -> None:
    run = {"B": 4, "C": 1000}
    with pytest.raises(SizeError, match="layout needs a value for C_pre; set it with --set"):
        layouts("llama-3-8b", devices=2, memory="80GB", sizes=run, prefix="shared")
    assert layouts("llama-3-8b", devices=2, memory="80GB", sizes={**run, "C_pre": 100}, prefix="shared").count
