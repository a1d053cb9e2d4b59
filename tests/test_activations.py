"""Activations in bytes, compared with torch's hooks on the CPU with real memory."""

from __future__ import annotations

import random
from math import prod
from typing import Any

import pytest
import torch
from sympy import Integer

from symformer import SymformerError, architecture
from symformer.architectures import from_config, names
from symformer.architectures.base_architecture import Architecture
from symformer.formulas.formula import Formula
from symformer.language.symbols import SYMBOLS, A, B, E, H, L, S, W
from symformer.ledger.facts import OperationKind
from symformer.models.model import Model
from symformer.quantities import quantity
from symformer.witness.dispatch_recorders import record_saved
from symformer.witness.model_calls import unpadded
from symformer.witness.stored_weights import build, witness_class
from symformer.witness.torch_counts import activation_bytes, train_bytes
from symformer.witness.torch_session import silence

from .samples import sampled

WAYS = [
    (implementation, dropout, recompute, dtype)
    for implementation, dropout in (("eager", "off"), ("eager", "on"), ("sdpa", "off"))
    for recompute in ("none", "selective", "full")
    for dtype in ("fp32", "bf16")
] + [("eager", "off", "none", "fp16"), ("sdpa", "off", "full", "fp16")]


def draw(target: str, seed: int) -> dict[str, int]:
    """Return random sizes, all different; widths are multiples of the heads."""
    source = random.Random(f"{target} {seed}")  # noqa: S311
    while True:
        small = {name: source.randint(2, 9) for name in ("B", "S", "L", "A", "G", "D")}
        sizes = {**small, "V": source.randint(20, 60), "P": source.randint(20, 60), "H": source.randint(5, 40)}
        if target in ("llama", "mistral"):
            sizes |= {"A": small["G"] * source.randint(2, 4), "D": 2 * small["D"]}
            sizes["E"] = sizes["A"] * source.randint(2, 5)
            del sizes["P"]
        else:
            sizes["E"] = sizes["A"] * source.randint(2, 9)
            del sizes["G"], sizes["D"]
        if target == "mistral":
            sizes["C_win"] = source.randint(2, 20)  # below or above the number of tokens
        if target == "bert":
            sizes["V_type"] = source.randint(2, 60)
        if len(set(sizes.values())) == len(sizes):
            return sizes


@pytest.mark.parametrize("seed", sampled(3, [1, 2, 3]))
@pytest.mark.parametrize(("implementation", "dropout", "recompute", "dtype"), sampled(2, WAYS))
@pytest.mark.parametrize("target", ["gpt2", "llama", "mistral", "bert"])
def test_activation_formula_matches_saved_bytes(
    target: str, implementation: str, dropout: str, recompute: str, dtype: str, seed: int
) -> None:
    sizes = draw(target, seed)
    model = architecture(target)
    component = model.component
    assert isinstance(component, Architecture)
    numbers = {SYMBOLS[name]: number for name, number in sizes.items()}
    way = {"implementation": implementation, "dropout": dropout, "recompute": recompute, "dtype": dtype}
    formula = model.formula("activations", **way).partial(H="H")
    assert formula.value(sizes) == activation_bytes(component, numbers, **way, fake=False) > 0
    symbolic = model.formula("activations", **{**way, "dtype": "symbolic"}).partial(H="H")
    if dtype != "fp32":
        assert symbolic.value(sizes, W=2) == formula.value(sizes)


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_fp32_equals_symbolic_at_4_bytes_except_eager_llama(implementation: str) -> None:
    """W = 4 is single precision, except for Llama's softmax, which saves its input and a cast copy."""
    for target, same in (("gpt2", True), ("bert", True), ("llama", implementation == "sdpa")):
        model = architecture(target)
        ways = [model.formula("activations", implementation=implementation, dtype=way) for way in ("fp32", "symbolic")]
        assert ways[0].equals(ways[1].expanded.xreplace({W: Integer(4)})) == same


def test_checkpointed_layer_saves_only_its_input() -> None:
    """Compare with a count by hand.

    4·B·S·E for each of L layers and for the final norm's input; outside of them, 8·B·S and 8·S for indices, the mean
    and 1/std of the final norm, and the input of the head; and one mask of 4·B·S² with eager attention.
    """
    gpt2 = architecture("gpt2")
    outside = 4 * B * S * E * (L + 1) + 8 * B * S + 8 * S + 8 * B * S + 4 * B * S * E
    assert gpt2.formula("activations", recompute="full", implementation="sdpa").equals(outside)
    assert gpt2.formula("activations", recompute="full").equals(outside + 4 * B * S**2)


def test_activations_match_korthikanti_equation_1() -> None:
    """Korthikanti et al. 2022, arXiv:2205.05198, eq. 1: sbh(34 + 5as/h) bytes per layer; here B·S·E·(34 + 5·A·S/E)."""
    layer = architecture("gpt2").formula("activations", implementation="megatron", dropout="on").part("h")
    assert layer.equals(S * B * E * (34 + 5 * A * S / E))
    core = layer.part("h.attn")  # first part of eq. 2: 11sbh + 5as²b, without the 2sbh from the norm before it
    assert core.equals(9 * S * B * E + 5 * A * S**2 * B)


def test_recompute_matches_korthikanti_table_2() -> None:
    """Without parallelism: 34sbh per layer with selective recomputation, 2sbh with full; in W bytes, 16W + 2 for 34."""
    gpt2 = architecture("gpt2")
    megatron = {"implementation": "megatron", "dropout": "on"}
    assert gpt2.formula("activations", recompute="selective", **megatron).part("h").equals(34 * S * B * E)
    assert gpt2.formula("activations", recompute="full", **megatron).part("h").equals(2 * S * B * E)
    layer = gpt2.formula("activations", recompute="selective", dtype="symbolic", **megatron).part("h")
    assert layer.equals((16 * W + 2) * S * B * E)


def test_unsupported_implementation_is_refused() -> None:
    with pytest.raises(SymformerError, match="transformers does not have this model"):
        architecture("gpt-from-scratch").formula("activations")
    with pytest.raises(
        SymformerError, match="rotary_emb: implementation=megatron supports only the layers of its paper"
    ):
        architecture("llama").formula("activations", implementation="megatron")
    with pytest.raises(
        SymformerError, match="rotary_emb: implementation=megatron supports only the layers of its paper"
    ):
        architecture("llama").formula("activations", implementation="megatron", recompute="full")
    with pytest.raises(SymformerError, match="implementation=megatron needs half precision"):
        architecture("gpt2").formula("activations", implementation="megatron", dtype="fp32")
    with pytest.raises(SymformerError, match="supports only dtype=fp32 and recompute=none"):
        architecture("gpt2").formula("activations", implementation="sdpa", dropout="on", dtype="bf16")


def test_one_head_of_one_sequence_is_refused() -> None:
    """In this case torch saves an expanded view, so the formula, which counts a copy, would be wrong."""
    formula = architecture("llama-2-7b").formula("activations")
    with pytest.raises(SymformerError, match="does not hold for B=1 and G=1: in that case torch saves a view"):
        formula.value({"B": 1, "G": 1, "S": 7, "V": 29, "E": 24, "H": 11, "L": 5, "A": 6, "D": 10})
    assert formula.value("llama-2-7b", B=1, S=7) > 0


def test_groups_of_wide_heads_are_refused() -> None:
    """Transformers passes grouped heads of up to 256 elements to torch unchanged, and copies wider ones first."""
    llama = architecture("llama")
    formula = llama.formula("activations", implementation="sdpa").partial(H="H")
    assert isinstance(llama.component, Architecture)
    sizes = {"B": 2, "S": 3, "V": 29, "E": 24, "H": 11, "L": 5, "A": 6, "G": 3}
    for width in (256, 258):
        numbers = {SYMBOLS[name]: number for name, number in {**sizes, "D": width}.items()}
        same = formula.expanded.xreplace(numbers) == activation_bytes(
            llama.component, numbers, implementation="sdpa", fake=False
        )
        assert same == (width == 256)
    assert formula.value({**sizes, "D": 256}) > 0
    with pytest.raises(
        SymformerError, match=r"256 is less than D=258 \(head dimension\); in that case transformers copies"
    ):
        formula.value({**sizes, "D": 258})


@pytest.mark.parametrize("dtype", sampled(2, ["fp32", "bf16"]))
@pytest.mark.parametrize("recompute", ["none", "selective", "full"])
@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_two_sided_window_keeps_its_mask(implementation: str, recompute: str, dtype: str) -> None:
    """The fused kernel gets and saves a mask for S >= C_win, so the formula would be too small there."""
    mistral = architecture("mistral")
    assert isinstance(mistral.component, Architecture)
    way = {"implementation": implementation, "recompute": recompute, "dtype": dtype}
    formula = mistral.formula("activations", **way)
    sizes = {"B": 3, "S": 11, "V": 31, "L": 5, "A": 4, "G": 2, "D": 6, "H": 10, "E": 20}
    for window in (7, 11, 12, 15):
        numbers = {SYMBOLS[name]: number for name, number in {**sizes, "C_win": window}.items()}
        theirs = activation_bytes(mistral.component, numbers, **way)
        if implementation == "eager" or window > sizes["S"]:
            assert formula.value({**sizes, "C_win": window}) == theirs
        else:
            assert formula.expanded.xreplace(numbers) < theirs
            with pytest.raises(SymformerError, match=f"C_win - 1={window - 1} is less than S=11 .* creates a mask"):
                formula.value({**sizes, "C_win": window})


def test_train_memory_includes_the_window_condition() -> None:
    mistral = architecture("mistral")
    assert isinstance(mistral.component, Architecture)
    formula = mistral.formula("train-memory", implementation="sdpa")
    sizes = {"B": 3, "S": 11, "V": 31, "L": 5, "A": 4, "G": 2, "D": 6, "H": 10, "E": 20}
    numbers = {SYMBOLS[name]: number for name, number in {**sizes, "C_win": 12}.items()}
    assert formula.value({**sizes, "C_win": 12}) == train_bytes(mistral.component, numbers, implementation="sdpa")
    for way in ({}, {"recompute": "selective"}, {"recompute": "full"}, {"dropout": "on"}):
        with pytest.raises(SymformerError, match="creates a mask that every layer saves"):
            mistral.formula("train-memory", implementation="sdpa", **way).value({**sizes, "C_win": 11})
    assert mistral.formula("train-memory").value({**sizes, "C_win": 11}) > 0


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
@pytest.mark.parametrize("recompute", ["none", "selective", "full"])
@pytest.mark.parametrize("target", ["llama", "mistral"])
def test_attention_dropout_in_a_config_is_counted(target: str, recompute: str, dtype: str) -> None:
    sizes = draw(target, 2)
    model = architecture(target, attention_dropout=True)
    assert isinstance(model.component, Architecture)
    numbers = {SYMBOLS[name]: number for name, number in sizes.items()}
    way = {"dropout": "on", "recompute": recompute, "dtype": dtype}
    theirs = activation_bytes(model.component, numbers, **way)
    assert model.formula("activations", **way).value(sizes) == theirs
    # By hand, without recomputation, for each of B·A·S² weights in L layers: the dropout noise, and in single precision
    # also its output; in half precision the output replaces the weights cast to it.
    without = architecture(target).formula("activations", **way).value(sizes)
    weights = sizes["B"] * sizes["A"] * sizes["S"] ** 2 * sizes["L"] if recompute == "none" else 0
    assert theirs - without == {"fp32": 4 + 4, "bf16": 2}[dtype] * weights


@pytest.mark.parametrize("recompute", ["selective", "full"])
@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_recomputed_groups_are_not_copied(implementation: str, recompute: str) -> None:
    """In this case neither a single head nor a wide one makes a difference."""
    llama = architecture("llama")
    assert isinstance(llama.component, Architecture)
    way = {"implementation": implementation, "recompute": recompute}
    formula = llama.formula("activations", **way).partial(H="H")
    sizes = {"B": 1, "S": 3, "V": 29, "E": 24, "H": 11, "L": 5, "A": 6, "G": 1, "D": 258}
    numbers = {SYMBOLS[name]: number for name, number in sizes.items()}
    assert formula.value(sizes) == activation_bytes(llama.component, numbers, **way, fake=False)


def test_unfused_gelu_keeps_three_more_tensors() -> None:
    gpt2 = architecture("gpt2").formula("activations").partial(H="H")
    assert gpt2.part("h.mlp").equals(20 * B * S * H)  # input, three products and output of the function, 4 bytes each


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("target", ["gpt2", "bert", "llama", "mistral"])
def test_dropout_disables_fused_attention_on_the_cpu(target: str, seed: int) -> None:
    """No CPU kernel applies dropout to attention weights, so torch falls back; Llama and Mistral have no dropout."""
    sizes = draw(target, seed)
    model = architecture(target)
    assert isinstance(model.component, Architecture)
    numbers = {SYMBOLS[name]: number for name, number in sizes.items()}
    formula = model.formula("activations", implementation="sdpa", dropout="on").partial(H="H")
    theirs = activation_bytes(model.component, numbers, implementation="sdpa", dropout="on", fake=False)
    assert formula.value(sizes) == theirs > 0
    without = model.formula("activations", implementation="sdpa").partial(H="H").value(sizes)
    assert (theirs == without) == (target in ("llama", "mistral"))


@pytest.mark.parametrize("alone", ["B", "A"])
def test_one_sequence_or_one_head_is_copied_once_more(alone: str) -> None:
    sizes = draw("gpt2", 1) | {alone: 1}
    model = architecture("gpt2")
    assert isinstance(model.component, Architecture)
    numbers = {SYMBOLS[name]: number for name, number in sizes.items()}
    formula = model.formula("activations", implementation="sdpa", dropout="on").partial(H="H")
    theirs = activation_bytes(model.component, numbers, implementation="sdpa", dropout="on", fake=False)
    # by hand: queries and keys, 4 bytes each, in every layer
    copies = 2 * 4 * sizes["B"] * sizes["S"] * sizes["E"] * sizes["L"]
    assert formula.expanded.xreplace(numbers) + copies == theirs
    with pytest.raises(
        SymformerError, match=f"does not hold for {alone}=1: in that case torch copies the queries and keys"
    ):
        formula.value(sizes)


HALF = {"B": 2, "S": 7, "L": 3, "A": 6, "G": 2, "D": 10, "E": 24, "H": 11, "V": 29}


@pytest.mark.parametrize("target", ["olmo", "olmo2", "qwen3"])
def test_half_precision_norms_match_saved_bytes(target: str) -> None:
    """Norms computed in single precision, with and without a scale: the bytes seen by the hooks, in bf16."""
    model = architecture(target)
    assert isinstance(model.component, Architecture)
    formula = model.formula("activations", dtype="bf16").partial(H="H")
    sizes = {str(size): HALF[str(size)] for size in formula.dependencies if str(size) in HALF}
    numbers = {SYMBOLS[name]: number for name, number in sizes.items()}
    assert formula.value(sizes) == activation_bytes(model.component, numbers, dtype="bf16", fake=False) > 0


OFFSET = {"B": 3, "S": 7, "L_local": 2, "L_global": 1, "A": 8, "G": 2, "D": 10, "E": 24, "H": 11, "V": 29}


@pytest.mark.parametrize(
    ("target", "implementation", "recompute", "dtype"),
    [
        ("gemma", "sdpa", "none", "fp32"),
        ("gemma", "eager", "full", "bf16"),
        ("gemma2", "eager", "none", "fp32"),
        ("gemma2", "eager", "none", "bf16"),
        ("gemma2", "eager", "selective", "bf16"),
        ("gemma3", "eager", "full", "bf16"),
        ("gemma3", "sdpa", "none", "bf16"),
    ],
)
def test_norms_with_an_offset_match_saved_bytes(target: str, implementation: str, recompute: str, dtype: str) -> None:
    """Each norm also saves its scale, which is 1 plus the stored parameter; soft caps save the output of tanh."""
    model = architecture(target)
    assert isinstance(model.component, Architecture)
    way = {"implementation": implementation, "recompute": recompute, "dtype": dtype}
    formula = model.formula("activations", **way).partial(H="H")
    drawn = {**OFFSET, "C_win": 9} if target != "gemma" else {**OFFSET, "L": 4}
    sizes = {name: drawn[name] for name in map(str, formula.dependencies) if name in drawn}
    numbers = {SYMBOLS[name]: number for name, number in drawn.items()}
    assert formula.value(sizes) == activation_bytes(model.component, numbers, **way, fake=False) > 0


def test_gemma_2_9b_saves_the_bytes_that_torch_reports() -> None:
    """The number is torch's, for one sequence of 1,024 tokens in bf16 with eager attention."""
    formula = architecture("gemma-2-9b").formula("activations", dtype="bf16")
    assert formula.value(B=1, S=1024) == 18_093_156_352
    memory = architecture("gemma-2-9b").formula("train-memory", recipe="pure-bf16", optimizer="sgd")
    # 2 bytes for each of 9,241,705,984 weights and as much for their gradients
    assert memory.value(B=1, S=1024) == 18_093_156_352 + 4 * 9_241_705_984


CONFIG = {
    **{"model_type": "gemma2", "architectures": ["Gemma2ForCausalLM"], "vocab_size": 29, "hidden_size": 24},
    **{"num_hidden_layers": 3, "intermediate_size": 11, "num_attention_heads": 8, "num_key_value_heads": 2},
    **{"head_dim": 10, "sliding_window": 9},
}


@pytest.mark.parametrize("field", ["", "attn_logit_softcapping", "final_logit_softcapping"])
def test_soft_caps_of_a_config_are_counted(field: str) -> None:
    """A cap that is null saves nothing."""
    model = from_config({**CONFIG, **({field: None} if field else {})})
    assert isinstance(model.component, Architecture)
    numbers = {SYMBOLS[name]: number for name, number in {**OFFSET, "L_local": 2, "L_global": 1, "C_win": 9}.items()}
    theirs = activation_bytes(model.component, numbers)
    assert model.formula("activations").value(B=3, S=7) == theirs
    # by hand: the output of tanh, 4·B·A·S² bytes in each of 3 layers, and 4·B·S·V
    tanhs = {"": 0, "attn_logit_softcapping": 3 * 4 * 3 * 8 * 7**2, "final_logit_softcapping": 4 * 3 * 7 * 29}
    assert from_config(CONFIG).formula("activations").value(B=3, S=7) - theirs == tanhs[field]


def test_classes_without_fused_attention_are_refused() -> None:
    """The witness states for each class whether transformers accepts attn_implementation="sdpa"."""
    with pytest.raises(SymformerError, match="does not accept torch's fused attention; choose implementation=eager"):
        architecture("gemma2").formula("activations", implementation="sdpa")
    for name in names():
        component = architecture(name).component
        assert isinstance(component, Architecture)
        attends = any(entry.kind is OperationKind.SCORES for _, entry in component.ledger)
        if component.library == "transformers" and attends and not component.activation_refusal:
            assert component.accepts_sdpa == witness_class(component)._supports_sdpa, name


LOSS_SIZES = {
    **OFFSET,
    **{"P": 30, "X": 9, "K": 4, "M": 16, "L": 4, "C_win": 9, "L_dense": 1, "L_moe": 2, "X_shared": 1},
    **{"R_q": 22, "R_kv": 18, "D_nope": 12, "D_rope": 6, "D_v": 26},
}


def trained_model(model: Model, dtype: str) -> tuple[Any, torch.Tensor]:
    """Return torch's model at these sizes without dropout, and its tokens."""
    assert isinstance(model.component, Architecture)
    numbers = {SYMBOLS[name]: number for name, number in LOSS_SIZES.items()}
    with silence():
        torchs = build(model.component, numbers, "cpu").to({"fp32": torch.float32, "bf16": torch.bfloat16}[dtype])
    for module in torchs.train().modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    torchs.config._attn_implementation, torchs.config._experts_implementation = "eager", "batched_mm"
    return torchs, torch.zeros(LOSS_SIZES["B"], LOSS_SIZES["S"], dtype=torch.long)


def at_loss_sizes(model: Model, formula: Formula) -> int:
    """Return the value of a formula at these sizes."""
    formula = formula.partial(H="H") if model.target == "gpt2" else formula
    named = {str(size) for size in formula.dependencies} - {str(size) for size in model.component.totals}
    return formula.value({name: number for name, number in LOSS_SIZES.items() if name in named})


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
@pytest.mark.parametrize("target", ["llama", "gpt2", "gemma2", "qwen3-moe", "deepseek-v3"])
def test_loss_of_causal_models_matches_saved_bytes(target: str, dtype: str) -> None:
    """The loss computes log-probabilities in float32 for every dtype of the model."""
    model = architecture(target)
    torchs, tokens = trained_model(model, dtype)
    with silence(), unpadded(), record_saved(torchs) as seen:
        output = torchs(tokens, labels=tokens.clone(), use_cache=False)
        seen.settle()
    assert output.loss is not None
    theirs = sum(times * prod(factors) for times, *factors in seen.tally.rows.values())
    chosen = {"moe": "batched"} if "X" in map(str, model.formula("activations").dependencies) else {}
    formula = model.formula("activations", dtype=dtype, loss="cross-entropy", **chosen)
    assert at_loss_sizes(model, formula) == theirs
    memory = model.formula("train-memory", loss="cross-entropy", **chosen)
    assert "the loss" not in quantity("train-memory").statement_for(memory)


@pytest.mark.parametrize(("target", "dtype"), [("llama", "bf16"), ("gpt2", "fp32"), ("phi", "bf16")])
def test_chunked_loss_matches_saved_bytes_and_gradients(target: str, dtype: str) -> None:
    """Torch saves no tensor for its linear_cross_entropy, whose node of the graph keeps three gradients instead.

    The head of GPT-2 is the embedding, and the head of Phi has a bias.
    """
    model = architecture(target)
    torchs, tokens = trained_model(model, dtype)
    with silence(), unpadded(), record_saved(torchs) as seen:
        hidden = torchs.base_model(tokens, use_cache=False).last_hidden_state
        loss = torch.nn.functional.linear_cross_entropy(
            hidden.flatten(0, 1),
            torchs.lm_head.weight,
            tokens.flatten(),
            linear_bias=torchs.lm_head.bias,
            options=torch.nn.LinearCrossEntropyOptions(),
        )
        seen.settle()
    gradients = [each for name in ("_gi", "_gw", "_gb") if (each := getattr(loss.grad_fn, name)) is not None]
    assert len(gradients) == (3 if target == "phi" else 2)
    theirs = sum(times * prod(factors) for times, *factors in seen.tally.rows.values())
    theirs += sum(each.numel() * each.element_size() for each in gradients)
    formula = model.formula("activations", dtype=dtype, loss="linear-cross-entropy")
    assert at_loss_sizes(model, formula) == theirs


def test_loss_of_other_models_is_refused() -> None:
    for loss in ("cross-entropy", "linear-cross-entropy"):
        for target in ("bert", "t5", "llava"):
            with pytest.raises(SymformerError, match=f"^loss={loss} is supported only for causal language models"):
                architecture(target).formula("activations", loss=loss)
    for target in ("gemma2", "granite"):  # capped and scaled logits
        with pytest.raises(SymformerError, match="changes the logits after it; choose loss=cross-entropy"):
            architecture(target).formula("activations", loss="linear-cross-entropy")


@pytest.mark.parametrize(
    ("target", "way"),
    [
        ("glm", {"dtype": "bf16"}),
        ("glm4", {"implementation": "sdpa"}),
        ("ernie4-5", {"dtype": "bf16", "recompute": "selective"}),
        ("ernie4-5", {"dtype": "bf16", "recompute": "full"}),
        ("arcee", {"dtype": "bf16"}),
    ],
)
def test_repeated_angles_and_squared_relus_match_saved_bytes(target: str, way: dict[str, str]) -> None:
    """Each layer copies the table of angles; the square of a ReLU saves the ReLU."""
    model = architecture(target)
    assert isinstance(model.component, Architecture)
    drawn = {**HALF, "D_rope": 4}
    formula = model.formula("activations", **way)
    sizes = {name: drawn[name] for name in map(str, formula.dependencies) if name in drawn}
    numbers = {SYMBOLS[name]: number for name, number in drawn.items()}
    assert formula.value(sizes) == activation_bytes(model.component, numbers, **way, fake=False) > 0
