"""Adapters, compared with peft's models and, for Houlsby's adapters, with hand counts and torch."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from click.testing import CliRunner
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

import symformer as sf
from symformer.architectures import architecture
from symformer.commands.cli import cli
from symformer.language.errors import SymformerError, WitnessError
from symformer.language.sizes import evaluate
from symformer.language.symbols import L_local, symbol
from symformer.ledger.adapters import Adapter
from symformer.models.model import Model
from symformer.quantities import quantities
from symformer.witness.dispatch_recorders import record_saved
from symformer.witness.model_calls import unpadded
from symformer.witness.torch_counts import recomputing
from symformer.witness.torch_session import built, silence

RUN = {"B": 5, "B_vis": 4, "S": 8}
RANK, NARROW = 11, 17
# Small configs in which all sizes differ, also from the sizes of the run and of the adapters.
LLAMA = {
    **{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 29, "hidden_size": 24},
    **{"num_hidden_layers": 3, "intermediate_size": 7, "num_attention_heads": 6, "num_key_value_heads": 2},
    **{"head_dim": 10, "attention_dropout": 0.0},
}
GPT2 = {
    **{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 29, "n_positions": 13, "n_embd": 12},
    **{"n_layer": 3, "n_head": 2, "n_inner": 7, "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0},
}
BERT = {
    **{"model_type": "bert", "architectures": ["BertForMaskedLM"], "vocab_size": 29, "max_position_embeddings": 13},
    **{"hidden_size": 12, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 7},
    **{"type_vocab_size": 4, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0},
}
ALBERT = {  # layers share their weights and their updates
    **{"model_type": "albert", "architectures": ["AlbertForMaskedLM"], "vocab_size": 29, "embedding_size": 4},
    **{"max_position_embeddings": 13, "hidden_size": 12, "num_hidden_layers": 3, "num_attention_heads": 2},
    **{"intermediate_size": 7, "type_vocab_size": 6, "num_hidden_groups": 1},
}
MIXTRAL = {
    **{"model_type": "mixtral", "architectures": ["MixtralForCausalLM"], "vocab_size": 29, "hidden_size": 24},
    **{"num_hidden_layers": 3, "intermediate_size": 7, "num_attention_heads": 6, "num_key_value_heads": 2},
    **{"head_dim": 10, "num_local_experts": 9, "num_experts_per_tok": 4},
}
DEEPSEEK = {  # a dense layer, then layers with experts
    **{"model_type": "deepseek_v2", "architectures": ["DeepseekV2ForCausalLM"], "vocab_size": 29, "hidden_size": 24},
    **{"num_hidden_layers": 4, "first_k_dense_replace": 1, "intermediate_size": 7, "moe_intermediate_size": 9},
    **{"num_attention_heads": 6, "num_key_value_heads": 6, "q_lora_rank": 19, "kv_lora_rank": 16, "v_head_dim": 10},
    **{"qk_nope_head_dim": 14, "qk_rope_head_dim": 4, "n_routed_experts": 12, "num_experts_per_tok": 3},
    **{"n_shared_experts": 2, "n_group": 1, "topk_group": 1, "attention_dropout": 0.0, "topk_method": "greedy"},
}
GEMMA = {  # layers with and without a window, either of which may be first
    **{"model_type": "gemma2", "architectures": ["Gemma2ForCausalLM"], "vocab_size": 29, "hidden_size": 24},
    **{"num_hidden_layers": 4, "intermediate_size": 7, "num_attention_heads": 6, "num_key_value_heads": 2},
    **{"head_dim": 10, "sliding_window": 3, "attention_dropout": 0.0, "pad_token_id": 0},
}
TURNED = {**GEMMA, "layer_types": ["full_attention", "sliding_attention", "sliding_attention", "sliding_attention"]}
MODERNBERT = {  # a layer without a norm, and then two layers with a window per layer without
    **{"model_type": "modernbert", "architectures": ["ModernBertForMaskedLM"], "vocab_size": 29, "hidden_size": 24},
    **{"num_hidden_layers": 5, "intermediate_size": 7, "num_attention_heads": 6, "local_attention": 4},
    **{"pad_token_id": 0, "attention_dropout": 0.0, "embedding_dropout": 0.0, "mlp_dropout": 0.0},
}
CASES: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    (LLAMA, ("q_proj", "v_proj")),
    (LLAMA, ("down_proj",)),
    (LLAMA, ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")),
    (GPT2, ("c_attn",)),
    (GPT2, ("c_proj",)),  # of attention and of the MLP
    (BERT, ("query", "value")),
    (MIXTRAL, ("q_proj", "o_proj")),
    (ALBERT, ("query", "ffn")),
    (DEEPSEEK, ("o_proj", "kv_b_proj")),
    (DEEPSEEK, ("q_b_proj",)),
    (MODERNBERT, ("Wqkv", "Wo")),
    (GEMMA, ("q_proj", "v_proj")),
    (TURNED, ("q_proj", "down_proj")),
]


def ours(config: dict[str, Any], folder: Path, **options: str) -> Model:
    path = folder / "config.json"
    path.write_text(json.dumps(config), "utf-8")
    return sf.from_config(str(path), **options).set({"R": RANK, "H_adapter": NARROW})


def theirs(config: dict[str, Any]) -> nn.Module:
    made_by = getattr(transformers, config["architectures"][0])
    model = built(lambda: made_by(made_by.config_class.from_dict(dict(config))), "cpu")
    model.config._attn_implementation = "eager"
    model.config._experts_implementation = "batched_mm"
    return model


def adapted_by_peft(config: dict[str, Any], **lora: Any) -> Any:
    from peft import LoraConfig, get_peft_model  # takes seconds, which only this worker spends

    with silence():
        return get_peft_model(theirs(config), LoraConfig(r=RANK, **lora))  # type: ignore[arg-type]


def value(model: Model, quantity: str, **conventions: str) -> int:
    formula = model.formula(quantity, **conventions)
    run = {name: number for name, number in RUN.items() if name in map(str, formula.dependencies)}
    return formula.value(
        {str(name): number for name, number in model.known.items() if name in formula.accepted_sizes}, **run
    )


def counted(model: nn.Module, backward: bool) -> int:
    counter = FlopCounterMode(display=False)
    with unpadded(), counter:
        output = model.train()(torch.zeros(RUN["B"], RUN["S"], dtype=torch.long))
        if backward:
            output.logits.sum().backward()
    return int(counter.get_total_flops())


@pytest.mark.parametrize(("config", "targets"), CASES, ids=[f"{each['model_type']}-{names}" for each, names in CASES])
def test_lora_matches_peft(config: dict[str, Any], targets: tuple[str, ...], tmp_path: Path) -> None:
    model = ours(config, tmp_path, lora=",".join(targets))
    updated = adapted_by_peft(config, target_modules=list(targets), fan_in_fan_out=config["model_type"] == "gpt2")
    trained, total = updated.get_nb_trainable_parameters()
    assert 0 < trained < total
    assert value(model, "params") == total
    assert value(model, "trainable-params") == trained
    if config is not ALBERT:  # it has a name for each stored layer
        assert _by_name(model) == {
            name.rpartition("model.")[2].replace(".default", ""): tuple(each.shape)
            for name, each in updated.named_parameters()
            if each.requires_grad
        }
    forward, both = counted(updated, backward=False), counted(updated, backward=True)
    assert 0 < forward < both
    assert value(model, "flops") == forward
    assert value(model, "train-flops") == both


VIT = {  # its class token and positions are not a table
    **{"model_type": "vit", "architectures": ["ViTForImageClassification"], "image_size": 14, "patch_size": 7},
    **{"num_channels": 3, "hidden_size": 12, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 7},
    **{"id2label": {str(each): "" for each in range(11)}, "hidden_dropout_prob": 0.0},
    "attention_probs_dropout_prob": 0.0,
}
CLIP = {  # only one of its towers may have an update
    **{"model_type": "clip", "architectures": ["CLIPModel"], "projection_dim": 10},
    "text_config": {
        **{"vocab_size": 29, "max_position_embeddings": 13, "hidden_size": 12, "num_hidden_layers": 3},
        **{"num_attention_heads": 2, "intermediate_size": 7},
    },
    "vision_config": {
        **{"image_size": 14, "patch_size": 7, "num_channels": 3, "hidden_size": 24, "num_hidden_layers": 2},
        **{"num_attention_heads": 6, "intermediate_size": 9},
    },
}
DISTILBERT = {
    **{"model_type": "distilbert", "architectures": ["DistilBertForMaskedLM"], "vocab_size": 29, "dim": 12},
    **{"max_position_embeddings": 13, "n_layers": 3, "n_heads": 2, "hidden_dim": 7},
}


@pytest.mark.parametrize(
    ("config", "target"),
    [
        *((VIT, "q_proj"), (VIT, "classifier"), (DISTILBERT, "vocab_transform"), (DISTILBERT, "lin2")),
        *((CLIP, "v_proj"), (CLIP, "fc2"), (CLIP, "visual_projection")),
    ],
)
def test_gradients_reach_no_layer_below_the_first_adapter(config: dict[str, Any], target: str, tmp_path: Path) -> None:
    model = ours(config, tmp_path, lora=target)
    updated = adapted_by_peft(config, target_modules=[target])
    trained, total = updated.get_nb_trainable_parameters()
    assert (value(model, "params"), value(model, "trainable-params")) == (total, trained)
    tokens, pixels = torch.zeros(RUN["B"], RUN["S"], dtype=torch.long), torch.zeros(5, 3, 14, 14)
    given = {"input_ids": tokens, "pixel_values": pixels[: RUN["B_vis"]]}
    counter = FlopCounterMode(display=False)
    with counter:
        if config is CLIP:
            updated.base_model.model(**given).logits_per_text.sum().backward()
        else:
            updated.base_model.model(pixels if config is VIT else tokens).logits.sum().backward()
    assert 0 < value(model, "flops") < value(model, "train-flops") == counter.get_total_flops()


SAVED: list[tuple[dict[str, Any], tuple[str, ...], dict[str, str]]] = [
    (LLAMA, ("q_proj", "v_proj"), {}),
    (LLAMA, ("down_proj",), {"dtype": "bf16"}),  # the first layer needs no gradient before it
    (LLAMA, ("k_proj",), {"dtype": "bf16", "implementation": "sdpa"}),
    (LLAMA, ("o_proj", "gate_proj"), {"dropout": "on"}),
    (LLAMA, ("q_proj",), {"recompute": "full", "implementation": "sdpa"}),
    (LLAMA, ("up_proj", "v_proj"), {"recompute": "selective", "dropout": "on"}),
    ({**LLAMA, "num_hidden_layers": 1}, ("down_proj",), {}),  # nothing rotates with gradients
    (GPT2, ("c_fc",), {"dtype": "bf16"}),
    (BERT, ("query", "value"), {"implementation": "sdpa"}),
    (ALBERT, ("query", "ffn"), {}),
    (MIXTRAL, ("q_proj", "o_proj"), {}),
    (MIXTRAL, ("v_proj",), {"dtype": "bf16"}),
    (DEEPSEEK, ("o_proj", "kv_b_proj"), {"dropout": "on"}),
    (MODERNBERT, ("Wqkv", "Wo"), {}),
    (GEMMA, ("q_proj", "v_proj"), {"dtype": "bf16"}),
    (TURNED, ("q_proj", "down_proj"), {}),
]


@pytest.mark.parametrize(("config", "targets", "way"), SAVED)
def test_lora_saves_what_autograd_saves_in_peft(
    config: dict[str, Any], targets: tuple[str, ...], way: dict[str, str], tmp_path: Path
) -> None:
    """A linear layer with frozen weights does not save its input."""
    model = ours(config, tmp_path, lora=",".join(targets))
    dropped = 0.3 if way.get("dropout") == "on" else 0.0
    fused = config["model_type"] == "gpt2"
    updated = adapted_by_peft(config, target_modules=list(targets), fan_in_fan_out=fused, lora_dropout=dropped)
    updated = updated.to(torch.bfloat16) if way.get("dtype") == "bf16" else updated
    inner = updated.train().base_model.model
    inner.config._attn_implementation = way.get("implementation", "eager")
    facts = {} if "Masked" in config["architectures"][0] else {"use_cache": False}
    with unpadded(), record_saved(updated) as seen, recomputing(inner, way.get("recompute", "none"), seen.keep):
        output = updated(torch.zeros(RUN["B"], RUN["S"], dtype=torch.long), **facts)
        seen.settle()
    assert output is not None  # it has the graph
    theirs = sum(times * prod(factors) for times, *factors in seen.tally.rows.values())
    assert value(model, "activations", moe="batched", **way) == theirs > 0


def test_chunked_loss_of_a_frozen_head_keeps_one_gradient(tmp_path: Path) -> None:
    model = ours(LLAMA, tmp_path, lora="q_proj,v_proj")
    updated = adapted_by_peft(LLAMA, target_modules=["q_proj", "v_proj"])
    inner = updated.train().base_model.model
    tokens = torch.zeros(RUN["B"], RUN["S"], dtype=torch.long)
    with unpadded(), record_saved(updated) as seen:
        hidden = inner.model(tokens, use_cache=False).last_hidden_state.flatten(0, 1)
        options = nn.LinearCrossEntropyOptions()
        loss = nn.functional.linear_cross_entropy(hidden, inner.lm_head.weight, tokens.flatten(), options=options)
        seen.settle()
    assert loss.grad_fn._gw is None
    theirs = sum(times * prod(factors) for times, *factors in seen.tally.rows.values())
    kept = theirs + loss.grad_fn._gi.numel() * loss.grad_fn._gi.element_size()
    assert value(model, "activations", loss="linear-cross-entropy") == kept


def _by_name(model: Model) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the trained weights, A [R, in] and B [out, R], by peft's names without its wrappers."""
    before = {"gpt2": "transformer.", "bert": "bert."}.get(model.id, "")
    return {
        before + weight.path.replace("*", str(layer)): tuple(evaluate(dim, model.known, "") for dim in weight.shape)
        for count, entry in model.ledger
        for weight in (entry.weights if not entry.frozen else ())
        for layer in range(evaluate(count, model.known, weight.path))
    }


class Narrow(nn.Module):
    """A linear layer with an adapter after it: Houlsby et al. 2019, arXiv:1902.00751, figure 2."""

    def __init__(self, base: nn.Module, width: int) -> None:
        super().__init__()
        self.base, self.down, self.up = base, nn.Linear(width, NARROW), nn.Linear(NARROW, width)

    def forward(self, x: Tensor) -> Tensor:
        y = self.base(x)
        return y + self.up(nn.functional.gelu(self.down(y)))


def test_houlsby_bottlenecks_match_the_paper_and_torch(tmp_path: Path) -> None:
    """After the attention projection and the second layer of the MLP: 2·(2·m·d + d + m) per layer, section 2.1."""
    model = ours(GPT2, tmp_path, adapters="c_proj")
    assert value(model, "trainable-params") == 3 * 2 * (2 * NARROW * 12 + 12 + NARROW)
    adapted: Any = theirs(GPT2).requires_grad_(False)
    for layer in adapted.transformer.h:
        layer.attn.c_proj, layer.mlp.c_proj = Narrow(layer.attn.c_proj, 12), Narrow(layer.mlp.c_proj, 12)
    trained = sum(each.numel() for each in adapted.parameters() if each.requires_grad)
    assert value(model, "trainable-params") == trained
    assert value(model, "params") == sum(each.numel() for each in adapted.parameters())
    assert value(model, "flops") == counted(adapted, backward=False)
    assert value(model, "train-flops") == counted(adapted, backward=True)


def test_lora_on_llama_7b_matches_the_count_printed_by_peft() -> None:
    """``print_trainable_parameters`` with rank 8 on queries and values, as in peft's guides for Llama 7B."""
    model = architecture("llama-7b", lora="q_proj,v_proj").set({"R": 8})
    assert model.formula("trainable-params").value() == 4_194_304
    assert model.params.value() == 6_742_609_920


@pytest.mark.parametrize("recipe", ["fp32", "bf16"])
def test_frozen_weights_have_no_gradient_and_no_optimizer_state(recipe: str, tmp_path: Path) -> None:
    """Memory of training with Adam, by hand.

    In single precision, 4 bytes per weight; 4 + 4 + 8 per trained weight, and 4 per trained tensor. In half precision,
    2 per weight and 2 + 4 + 8 per trained weight.
    """
    model = ours(LLAMA, tmp_path, lora="q_proj,v_proj")
    total, trained = value(model, "params"), value(model, "trainable-params")
    weight, more = {"fp32": (4, 12), "bf16": (2, 14)}[recipe]
    steps = 4 * (2 * 2 * 3)  # A and B of two linear layers in three layers
    memory = value(model, "train-memory", recipe=recipe, implementation="none")
    assert memory == weight * total + more * trained + steps


QWEN = {
    **{"model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], "vocab_size": 29, "hidden_size": 24},
    **{"num_hidden_layers": 3, "intermediate_size": 7, "moe_intermediate_size": 11, "num_attention_heads": 6},
    **{"num_key_value_heads": 2, "head_dim": 10, "num_experts": 9, "num_experts_per_tok": 4, "attention_dropout": 0.0},
}


@pytest.mark.parametrize(
    ("config", "targets"),
    [(LLAMA, ("q_proj", "down_proj")), (GPT2, ("c_attn", "c_fc")), (QWEN, ("k_proj", "o_proj"))],
    ids=["llama", "gpt2", "qwen3-moe"],
)
def test_dora_matches_peft(config: dict[str, Any], targets: tuple[str, ...], tmp_path: Path) -> None:
    """DoRA adds a magnitude of each output feature to the two matrices of LoRA."""
    model = ours(config, tmp_path, dora=",".join(targets))
    updated = adapted_by_peft(config, target_modules=list(targets), fan_in_fan_out=config is GPT2, use_dora=True)
    trained = [each for each in updated.parameters() if each.requires_grad]
    assert _by_name(model) == {
        name.rpartition("model.")[2].replace(".default", ""): tuple(each.shape)
        for name, each in updated.named_parameters()
        if each.requires_grad
    }
    assert value(model, "trainable-params") == sum(each.numel() for each in trained)
    assert value(model, "params") == sum(each.numel() for each in updated.parameters())
    optimizer = torch.optim.Adam(trained)
    updated(torch.zeros(RUN["B"], RUN["S"], dtype=torch.long)).logits.sum().backward()
    optimizer.step()
    gradients = [each.grad for each in updated.parameters() if each.grad is not None]
    state = [each for of in optimizer.state.values() for each in of.values()]
    memory = sum(each.numel() * each.element_size() for each in (*updated.parameters(), *gradients, *state))
    assert value(model, "train-memory", implementation="none") == memory


def test_dora_is_refused_where_operations_are_counted() -> None:
    model = architecture("llama-7b", dora="q_proj")
    for quantity in quantities():
        if quantity in ("params", "active-params", "trainable-params", "weight-memory", "pipeline-bubble"):
            model.formula(quantity)
            continue
        with pytest.raises(SymformerError, match="of a model with DoRA is not supported; choose params, active-params"):
            model.formula(quantity)
    with pytest.raises(SymformerError, match="gate is a router, and adapters of routers are not supported"):
        architecture("mixtral", dora="gate").formula("params")
    magnitudes = model.formula("params").expanded - architecture("llama-7b", lora="q_proj").params.expanded
    assert magnitudes == symbol("A") * symbol("D") * symbol("L")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"lora": "all", "dora": "q_proj"}, "lora=all and dora=q_proj both adapt layers.*.self_attn.q_proj; "),
        ({"dora": "mlp"}, "dora=mlp: Llama has no linear layer 'mlp'; it has down_proj, gate_proj, "),
        ({"dora": "lm_head"}, "dora=lm_head: lm_head is the LM head, and adapters of the LM head are not supported"),
        ({"lora": "q_pro"}, "lora=q_pro: Llama has no linear layer 'q_pro'; it has down_proj, gate_proj, "),
        ({"lora": "q_proj,q_proj"}, "lora=q_proj,q_proj has q_proj twice; remove one"),
        ({"lora": "q_proj,"}, "lora=q_proj, is not valid; it needs names, such as lora=q_proj,v_proj"),
        ({"adapters": "lm_head"}, "adapters=lm_head: lm_head is the LM head, and adapters of the LM head are not"),
        ({"lora": True}, "lora=True is not valid"),
    ],
)
def test_unsupported_adapter_targets_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SymformerError) as caught:
        _ = architecture("llama", **options).params
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("target", "option", "sentence"),
    [
        ("mixtral", "gate_up_proj", "adapters of expert matrices are not supported"),
        ("transformer", "q_proj", "Transformer has no linear layer 'q_proj'; it has linear1, linear2, out_proj"),
    ],
)
def test_fused_matrices_are_refused(target: str, option: str, sentence: str) -> None:
    with pytest.raises(SymformerError, match=sentence):
        _ = architecture(target, lora=option).params


def test_train_lora_adapts_every_linear_layer_inside_repeated_layers() -> None:
    """As in peft with ``all-linear``, which omits the head; BERT's pooler is not in a repeated layer either."""
    updated = adapted_by_peft(GPT2, target_modules="all-linear", fan_in_fan_out=True)
    adapted = [name for name, _ in updated.named_modules() if name.endswith(".lora_A.default")]
    assert len(adapted) == 3 * 4  # c_attn, c_fc and two layers named c_proj, in three layers
    rows = [row for row in architecture("gpt2").formula("train-flops", train="lora").rows if "lora_A" in row.path]
    assert sum(row.each.has(symbol("R")) for row in rows) == 4
    assert {row.path.partition(".lora_A")[0] for row in rows} == {
        name.removeprefix("base_model.model.transformer.").removesuffix(".lora_A.default").replace("h.0", "h.*")
        for name in adapted
        if ".h.0." in name
    }
    assert Adapter("lora").wanted("encoder.layer.*.output.dense")
    assert not Adapter("lora").wanted("pooler.dense")
    assert str(Adapter("lora", ("q_proj", "v_proj"))) == "lora=q_proj,v_proj"


def test_quantities_without_adapter_rules_are_refused() -> None:
    model = architecture("llama-7b", lora="q_proj")
    for quantity, conventions, sentence in (
        ("activations", {"implementation": "megatron"}, "choose lora= with implementation=eager or sdpa"),
        ("train-memory", {"implementation": "megatron", "recipe": "bf16"}, "with implementation=none"),
        ("communication", {"data": "zero1"}, "communication of a model with adapters is not supported"),
        ("params", {"tensor": "on"}, "per-rank adapters are not supported; remove tensor=on"),
        ("train-flops", {"train": "lora"}, "train=lora needs a model without adapters"),
    ):
        with pytest.raises(SymformerError, match=sentence):
            model.formula(quantity, **conventions)
    with pytest.raises(WitnessError, match="has adapters, which only the tests compare with peft"):
        sf.verify(model)


@pytest.mark.parametrize("target", ["llama-7b", "config"])
def test_adapters_work_in_every_command_and_in_python(target: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA), "utf-8")
    asked = ["show", str(path) if target == "config" else target, "--option", "lora=q_proj,v_proj", "-q"]
    for quantity in ("trainable-params", "params"):
        result = CliRunner().invoke(cli, [*asked, quantity, "--set", "R=8", "--json"], prog_name="symformer")
        assert result.exit_code == 0, result.stderr
        found = json.loads(result.stdout)
        assert found["conventions"]["lora"] == "q_proj,v_proj"
        assert found["symbols"]["R"] == 8
        model = (
            sf.from_config(str(path), lora=("q_proj", "v_proj"))
            if target == "config"
            else architecture(target, lora="q_proj,v_proj")
        )
        assert found["value"] == model.set({"R": 8}).formula(quantity).value()
    told = CliRunner().invoke(cli, ["derive", *asked[1:], "trainable-params", "-o", "-", "--format", "md"]).stdout
    assert "Low-rank updates (LoRA) are added to" in told
    assert "Only these are trained" in told


@pytest.mark.parametrize(
    ("target", "what"), [("hf:gpt2", "a model type of transformers"), ("component:mlp", "a component")]
)
def test_adapters_outside_composed_models_are_refused_with_a_reason(target: str, what: str) -> None:
    for option in ("lora=c_attn", "adapters=fc1"):
        result = CliRunner().invoke(cli, ["show", target, "--option", option], prog_name="symformer")
        assert result.exit_code == 2
        assert "needs a complete built-in model whose linear layers get the adapters" in result.stderr
        assert f"{target} is {what}; name an architecture" in result.stderr


def test_mixed_layers_require_a_known_first_layer() -> None:
    """If only queries are adapted, its keys and values need no gradient, for the pairs within its window."""
    adapted = architecture("gemma2", lora="q_proj")
    with pytest.raises(SymformerError, match="depends on the order of the layer kinds"):
        adapted.formula("train-flops", attention="causal")
    every = architecture("gemma2", lora="q_proj,k_proj,v_proj")  # every layer has them
    assert every.formula("train-flops", attention="causal").expanded.has(L_local)


@pytest.mark.parametrize(
    ("target", "lora", "quantity", "sentence"),
    [
        ("mixtral", "gate", "params", "gate is a router, and adapters of routers are not supported"),
        ("deepseek-v2", "gate_proj", "params", "adapters of expert matrices are not supported"),
        ("transformer", "in_proj", "params", "in_proj is not a module, and adapters of parameters are not supported"),
        ("nemotron-h", "q_proj", "train-flops", "depends on the order of the layer kinds"),
        ("mamba", "x_proj", "params", "belongs to a scan, whose code reads the stored matrices directly"),
    ],
)
def test_invalid_adapter_arguments_are_refused(target: str, lora: str, quantity: str, sentence: str) -> None:
    with pytest.raises(SymformerError, match=sentence):
        architecture(target, lora=lora).formula(quantity)
