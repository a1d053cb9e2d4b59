"""Published FLOP counts, compared with the values of the functions themselves, their refusals, and all interfaces.

The expected values are the return values of each function, run on its own at these inputs, with B = 2 and S = 29
(GPT-2: S = P = 31, since nanoGPT's T is its block size), rounded if it computes in floats. They are from

- torchtitan/models/utils.py of pytorch/torchtitan, commit b5bcd76c: get_dense_model_nparams_and_flops for GPT-2 and
  Llama, get_moe_model_nparams_and_flops for all others, with the parameters of the transformers class under
  torchtitan's names, times B·S;
- model.py of karpathy/nanoGPT, commit 3adf61e1: GPT.estimate_mfu(2, 1.0) · 312e12;
- megatron/training/training.py of NVIDIA/Megatron-LM, commit d98e8a64: num_floating_point_operations, with
  padded_vocab_size=V;
- src/megatron/bridge/training/utils/flop_utils.py of NVIDIA-NeMo/Megatron-Bridge, commit 067f987d: the same, with
  window_size=(C_win - 1, 0) and, for layers of two kinds, window_attn_skip_freq=2 (GPT-OSS) and 6 (Gemma 3);
- src/maxtext/utils/maxtext_utils.py of AI-Hypercomputer/maxtext, commit e591f30c: calculate_tflops_training_per_device,
  times 1e12;
- verl/utils/flops_counter.py of verl-project/verl, commit 1dda039b: the function of each model type over two sequences
  of 29 tokens in one second, times 1e12;
- PaLM, appendix B: 6N + 12LHQT, times B·S, with N from the class of transformers.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result
from sympy import Min, expand

import symformer as sf
from symformer.commands.cli import cli
from symformer.language.errors import OptionError, RuleError, SizeError
from symformer.language.symbols import B, S
from symformer.quantities import quantities
from symformer.quantities.rule_sets import IMAGES, PROMPT, TRAINING

RUN = {"B": 2, "S": 29}
GPT2 = {"B": 2, "S": 31, "L": 3, "E": 20, "H": 80, "A": 4, "V": 101, "P": 31}
LLAMA = {**RUN, "L": 3, "E": 48, "A": 6, "G": 2, "D": 8, "H": 34, "V": 103}
MIXTRAL = {**RUN, "L": 3, "E": 28, "A": 6, "G": 2, "D": 8, "X": 7, "K": 4, "M": 11, "V": 103}
LATENT = {"R_kv": 8, "D_nope": 6, "D_rope": 2, "D_v": 5}
DEEPSEEK = {**RUN, **LATENT, "L_dense": 1, "L_moe": 3, "E": 26, "A": 4, "H": 35, "X": 12, "K": 4, "M": 7, "X_shared": 3}
DEEPSEEK |= {"V": 101}
WINDOWED = {**RUN, "E": 28, "A": 6, "G": 2, "D": 8, "V": 103, "C_win": 13}

# The target, its options and sizes, and the training FLOPs by each rule set.
TRAINED: dict[str, tuple[str, dict[str, str], dict[str, int], dict[str, int]]] = {
    "gpt2": (
        "gpt2",
        {},
        GPT2,
        {
            "torchtitan": 8_027_760,
            "nanogpt": 7_797_120,
            "megatron": 6_800_160,
            "megatron-bridge": 6_800_160,
            "maxtext": 6_800_160,
            "palm": 8_027_760,
        },
    ),
    "gpt2 with a head of its own": ("gpt2", {"tied": "false"}, GPT2, {"torchtitan": 7_797_120}),
    "llama": (
        "llama",
        {},
        LLAMA,
        {
            "torchtitan": 16_269_696,
            "megatron": 14_699_520,
            "megatron-bridge": 14_699_520,
            "maxtext": 14_699_520,
            "verl": 16_420_032,
            "palm": 17_990_208,
        },
    ),
    "llama with a tied head": (
        "llama",
        {"tied": "true"},
        LLAMA,
        {"torchtitan": 16_269_696, "megatron": 14_699_520, "verl": 16_420_032, "palm": 16_269_696},
    ),
    "mistral beyond its window": (
        "mistral",
        {"window": "true"},
        {**LLAMA, "C_win": 11},
        {"megatron": 14_699_520, "megatron-bridge": 14_158_656, "maxtext": 14_699_520, "verl": 16_420_032},
    ),
    "mistral in its window": (
        "mistral",
        {"window": "true"},
        {**LLAMA, "C_win": 29},
        {"megatron": 14_699_520, "megatron-bridge": 14_699_520},
    ),
    "qwen3, whose heads are wider together than it": (
        "qwen3",
        {},
        {**LLAMA, "E": 24},
        {
            "torchtitan": 9_604_800,
            "megatron": 8_076_384,
            "megatron-bridge": 8_076_384,
            "maxtext": 8_076_384,
            "verl": 8_936_640,
        },
    ),
    "mixtral": (
        "mixtral",
        {},
        MIXTRAL,
        {"torchtitan": 11_783_280, "megatron": 10_057_200, "megatron-bridge": 10_057_200, "maxtext": 10_261_824},
    ),
    "qwen3-moe": (
        "qwen3-moe",
        {},
        MIXTRAL,
        {
            "torchtitan": 11_799_984,
            "megatron": 10_057_200,
            "megatron-bridge": 10_057_200,
            "maxtext": 10_261_824,
            "verl": 11_265_456,
        },
    ),
    "qwen2-moe, with a shared expert": (
        "qwen2-moe",
        {},
        {**MIXTRAL, "E": 48, "M_shared": 17},
        {"verl": 18_274_176, "megatron": 18_758_592, "megatron-bridge": 18_758_592},
    ),
    "deepseek-v3": (
        "deepseek-v3",
        {},
        {**DEEPSEEK, "R_q": 9},
        {
            "torchtitan": 10_686_384,
            "megatron": 9_229_656,
            "megatron-bridge": 9_229_656,
            "maxtext": 9_531_720,
            "verl": 10_445_568,
        },
    ),
    "deepseek-v3 without a latent of queries": (
        "deepseek-v3",
        {"query_latent": "false"},
        DEEPSEEK,
        {"megatron": 9_648_648, "megatron-bridge": 9_648_648, "maxtext": 9_963_240, "verl": 10_877_088},
    ),
    "gpt-oss": (
        "gpt-oss",
        {},
        {**WINDOWED, "L_local": 2, "L_global": 2, "X": 7, "K": 4, "M": 11},
        {"torchtitan": 15_820_080, "megatron-bridge": 12_795_120, "maxtext": 13_052_976, "verl": 13_816_992},
    ),
    "gemma3": (
        "gemma3",
        {},
        {**WINDOWED, "L_local": 5, "L_global": 1, "H": 34},
        {"megatron-bridge": 16_657_008, "maxtext": 16_619_568, "verl": 17_024_160},
    ),
    "gemma2": ("gemma2", {}, {**WINDOWED, "L_local": 2, "L_global": 2, "H": 34}, {"maxtext": 11_610_864}),
}
# vllm/v1/metrics/perf.py of vllm-project/vllm, commit 00cee63e: get_num_flops_breakdown for attention, MLPs and logits,
# for two requests of 29 (GPT-2: 31) tokens each, with an empty cache, on one GPU.
PROMPTED: dict[str, tuple[dict[str, int], int]] = {
    "gpt2": (GPT2, 2_850_160),
    "llama": (LLAMA, 4_830_528),
    "mistral": ({**LLAMA, "C_win": 11}, 4_229_184),
    "qwen3-moe": (MIXTRAL, 3_513_808),
    "qwen2-moe": ({**MIXTRAL, "E": 48, "M_shared": 17}, 5_331_648),
    "gpt-oss": ({**WINDOWED, "L_local": 2, "L_global": 2, "X": 7, "K": 4, "M": 11}, 4_324_880),
    "deepseek-v3": ({**DEEPSEEK, "R_q": 9}, 3_124_408),
}
# results/benchmark-infer-amp-nchw-pt210-cu121-rtx3090.csv of huggingface/pytorch-image-models, column infer_gmacs.
PUBLISHED = {
    "vit-base-patch16-224": "16.87",
    "vit-base-patch32-224": "4.37",
    "vit-base-patch16-384": "49.40",
    "vit-base-patch32-384": "12.67",
    "vit-large-patch16-224": "59.70",
}
REFUSED: dict[str, tuple[str, dict[str, str], str, dict[str, str], str]] = {
    "a mixture": ("mixtral", {}, "train-flops", {"counted": "palm"}, "PaLM's rule is for dense models"),
    "a mixture of nanoGPT": ("olmoe", {}, "train-flops", {"counted": "nanogpt"}, "layers.*.mlp.experts"),
    "an encoder-decoder": ("t5", {}, "train-flops", {"counted": "palm"}, "attends to all tokens or to an encoder"),
    "an encoder": ("bert", {}, "train-flops", {"counted": "megatron"}, "Megatron-LM counts decoders"),
    "a scan": ("mamba", {}, "train-flops", {"counted": "torchtitan"}, "torchtitan has no rule for the convolution"),
    "images": ("vit", {}, "train-flops", {"counted": "maxtext"}, "MaxText counts decoders"),
    "adapters": ("llama", {"lora": "q_proj"}, "train-flops", {"counted": "verl"}, "do not cover adapters"),
    "no head": ("gpt2", {"head": "none"}, "train-flops", {"counted": "megatron"}, "gpt2 computes no logits"),
    "a part": ("component:gated-mlp", {}, "train-flops", {"counted": "palm"}, "gated-mlp computes no logits"),
    "no attention": ("feed-forward-lm", {}, "train-flops", {"counted": "palm"}, "feed-forward-lm has none"),
    "a gate of another kind": ("gemma", {}, "train-flops", {"counted": "megatron"}, "gates with gelu_pytorch_tanh"),
    "a type that verl counts as 0": ("gpt2", {}, "train-flops", {"counted": "verl"}, "are not supported for gpt2"),
    "runs next to the experts": ("qwen2-moe", {}, "train-flops", {"counted": "maxtext"}, "runs next to the experts"),
    "positions in scores": ("gopher", {}, "train-flops", {"counted": "palm"}, "layers.*.attention.distance_scores"),
    "a config that vLLM reads differently": (
        "bloom",
        {},
        "prefill-flops",
        {"counted": "vllm"},
        "are not supported for bloom",
    ),
    "adapters of images": (
        "vit-base-patch16-224",
        {"lora": "q_proj"},
        "flops",
        {"counted": "timm"},
        "do not cover adapters",
    ),
    "a pooler": ("vit", {}, "flops", {"counted": "timm"}, "vit with its pooler"),
    "text": ("gpt2", {}, "flops", {"counted": "timm"}, "this is gpt2"),
}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def value(formula: sf.Formula, sizes: dict[str, int]) -> int:
    return formula.value({name: size for name, size in sizes.items() if name in map(str, formula.accepted_sizes)})


@pytest.mark.parametrize("name", TRAINED)
def test_rule_sets_match_the_tools(name: str) -> None:
    target, options, sizes, expected = TRAINED[name]
    model = sf.model(target, **options)
    found = {rules: value(model.formula("train-flops", counted=rules), sizes) for rules in expected}
    assert found == expected


@pytest.mark.parametrize("target", PROMPTED)
def test_prompt_flops_match_vllm(target: str) -> None:
    sizes, expected = PROMPTED[target]
    options = {"window": "true"} if target == "mistral" else {}
    assert value(sf.model(target, **options).formula("prefill-flops", counted="vllm"), sizes) == expected


@pytest.mark.parametrize("target", PUBLISHED)
def test_vit_flops_match_timm(target: str) -> None:
    found = sf.model(target).formula("flops", counted="timm").value(B=1)
    assert f"{found / 1e9:.2f}" == PUBLISHED[target]


def test_vit_flops_match_fvcore() -> None:
    """As counted by fvcore 0.1.5.post20221221 for transformers' ViTForImageClassification with fused attention."""
    formula = sf.model("vit", head="classifier").formula("flops", counted="timm")
    sizes = {"B": 1, "L": 3, "E": 20, "A": 4, "H": 34, "Z": 30, "Z_patch": 6, "N_chan": 3, "N_class": 11}
    assert value(formula, sizes) == 303_300
    assert formula.measure.unit == "MACs"


def test_default_rules_are_unchanged() -> None:
    """Rule sets are never mentioned unless requested."""
    gpt2 = sf.architecture("gpt2")
    ours, said = gpt2.formula("train-flops"), gpt2.formula("train-flops", counted="here")
    assert "counted" not in ours.conventions
    assert (ours.digest, dict(ours.conventions)) == (said.digest, dict(said.conventions))
    # 6 per token for each of 12LE² + VE elements, and 12 per layer for each of S² pairs and E elements
    assert str(ours.expanded) == "72*B*E**2*L*S + 12*B*E*L*S**2 + 6*B*E*S*V"


@pytest.mark.parametrize("name", REFUSED)
def test_operations_without_a_rule_are_refused(name: str) -> None:
    target, options, quantity, conventions, words = REFUSED[name]
    with pytest.raises(RuleError) as refused:
        sf.model(target, **options).formula(quantity, **conventions)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"attention": "causal"}, "counted=palm determines attention; remove attention=causal"),
        ({"recompute": "full"}, "counted=palm determines recompute; remove recompute=full"),
        ({"tensor": "on"}, "counted=palm counts a whole model, not one rank; remove tensor=on"),
    ],
)
def test_rule_set_excludes_other_conventions(given: dict[str, str], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        sf.architecture("gpt2").formula("train-flops", counted="palm", **given)


def test_nanogpt_divides_the_width_among_heads() -> None:
    """Gemma 3 1B: A·D = 4 · 256, and E = 1,152."""
    gemma = sf.model("gemma-3-1b").formula("train-flops", counted="nanogpt")
    with pytest.raises(SizeError, match="counted=nanogpt requires that the heads divide the hidden size"):
        gemma.value(B=1, S=64)


def test_vllm_uses_four_times_the_width_for_gpt2() -> None:
    gpt2 = sf.architecture("gpt2").set({"H": 3000})
    with pytest.raises(SizeError, match="assumes 4E, because vLLM reads no intermediate size from a gpt2 config"):
        gpt2.formula("prefill-flops", counted="vllm").value(B=1, S=31)


@pytest.mark.parametrize("target", ["falcon", "gpt-neox", "cohere", "olmo2", "bloom", "modernbert", "whisper", "clip"])
def test_every_rule_set_answers_or_refuses(target: str) -> None:
    """If it answers, the rows sum to the whole, and every size is one of the model's."""
    model, answered = sf.model(target), 0
    for quantity, sets in (("train-flops", TRAINING), ("prefill-flops", PROMPT), ("flops", IMAGES)):
        for name in sets:
            try:
                formula = model.formula(quantity, counted=name)
            except RuleError:
                continue
            answered += 1
            assert sum(row.total for row in formula.rows).expand() == formula.display_expr.expand()
            assert {*formula.symbols} <= {*model.sizes, *formula.accepted_sizes}
    assert (answered > 3) == (target not in ("modernbert", "whisper", "clip"))


@pytest.mark.parametrize("target", ["gpt2", "opt", "phi", "gemma2", "falcon", "bloom", "cohere", "palm", "qwen2"])
def test_palm_equals_6n_plus_full_attention(target: str) -> None:
    """6N + 12LHQT over B·S tokens, where N is the certified number of parameters.

    Our attention also counts every pair. Half of it is Megatron-Bridge's if no window is shorter than S, and the
    matrices are the same.
    """
    model = sf.model(target)
    ours = model.formula("train-flops")
    attention = sum(row.total for row in ours.rows if row.path.endswith((".scores", ".mix")))
    palm = model.formula("train-flops", counted="palm").expanded
    assert expand(palm - 6 * B * S * model.params.expanded - attention) == 0
    theirs = model.formula("train-flops", counted="megatron-bridge").expanded
    if not theirs.has(Min):
        assert expand(ours.expanded - theirs - attention / 2) == 0


def test_each_rule_set_cites_its_source() -> None:
    for quantity, question in quantities().items():
        for name, rules in getattr(question, "rule_sets", {}).items():
            assert rules.name == name
            assert rules.link.startswith("https://"), quantity
            assert rules.where
            assert rules.who in question.choices["counted"].meanings[name]
            assert "B sequences" in rules.statement or "B images" in rules.statement


def test_differences_between_rule_sets_by_row() -> None:
    """PaLM's N includes biases, norms and positions: 13E per layer, P rows and a final norm of 2E."""
    found = sf.compare("gpt2", "gpt2", "train-flops", left={"counted": "here"}, right={"counted": "palm"})
    assert str(found.difference) == "-78*B*E*L*S - 6*B*E*P*S - 12*B*E*S"
    shown = run("compare", "gpt2", "gpt2", "-q", "train-flops", "--right", "counted=palm").stdout
    assert "gpt2 (1) is counted with attention=full." in shown
    assert "gpt2 (2) is counted with counted=palm." in shown
    assert "\nattention=full" not in shown  # PaLM's rules do not apply to it
    refused = run("compare", "vit-base-patch16-224", "vit-base-patch16-224", "-q", "flops", "--right", "counted=timm")
    assert refused.exit_code == 2
    assert "compare counts in one unit" in refused.stderr


def test_rule_sets_are_compared() -> None:
    shown: list[dict[str, Any]] = json.loads(
        run("show", "gpt2", "-q", "train-flops", "--conventions", "--set", "B=2", "--set", "S=31", "--json").stdout
    )["variants"]
    rules = {each["choice"]: each for each in shown if each["convention"] == "counted"}
    assert [*rules] == ["here", *TRAINING]
    assert rules["here"]["chosen"]
    assert rules["torchtitan"]["used_by"][0]["where"].startswith("torchtitan/models/utils.py")
    assert rules["verl"]["refused"].startswith("counted=verl: verl's rules are not supported for gpt2")
    alone = run("show", "gpt2", "-q", "train-flops", "--conventions", "--option", "counted=palm").stdout
    assert "counted=palm *" in alone
    assert "attention=" not in alone


def test_rule_sets_through_cli_and_documents() -> None:
    """The command, one sentence of check and of explain, solve, and a document."""
    shown = run("show", "gpt2-xl", "-q", "train-flops", "--option", "counted=torchtitan", "--set", "B=1").stdout
    assert "counted=torchtitan" in shown
    assert "counted by the rules of torchtitan, torchtitan/models/utils.py" in shown
    assert "\nattention=" not in shown
    # 6(12LE² + 13LE + VE + 2E) + 12LES per token
    checked = run("check", "6(12LE^2 + 13LE + VE + 2E) + 12LES", "--against", "gpt2", "-q", "train-flops").stdout
    assert "counted = nanogpt; one token is counted instead of B·S" in checked
    # nanoGPT's own number: 6 · 1,555,972,800 + 12 · 48 · 1,600 · 1,024 per token, times 1,024
    explained = run("explain", "gpt2-xl", "10.526T", "-q", "train-flops", "--set", "B=1", "--set", "S=1024").stdout
    assert "with counted=nanogpt" in explained
    assert f"{(6 * 1_555_972_800 + 12 * 48 * 1_600 * 1_024) * 1_024:,}" in explained
    assert "with counted=timm" in run("explain", "vit-base-patch16-224", "16.87 GMACs", "--set", "B=1").stdout
    listed = run("list").stdout
    assert f"counted=here|{'|'.join(TRAINING)}" in listed


def test_rule_sets_on_a_traced_model(tmp_path: Any) -> None:
    """SmolLM3 has the matrices and norms of a Llama, so with the same sizes and a tied head the numbers are equal.

    A trace does not know the purpose of its products, so rule sets that depend on it are refused.
    """
    sizes = {"vocab_size": 103, "hidden_size": 48, "intermediate_size": 34, "num_hidden_layers": 3}
    sizes |= {"num_attention_heads": 6, "num_key_value_heads": 2, "pad_token_id": 0}
    place = tmp_path / "config.json"
    facts = {"architectures": ["SmolLM3ForCausalLM"], "model_type": "smollm3", "tie_word_embeddings": True, **sizes}
    place.write_text(json.dumps(facts), "utf-8")
    asked = ("show", str(place), "-q", "train-flops", "--set", "B=2", "--set", "S=29", "--option")
    shown = run(*asked, "counted=torchtitan").stdout
    assert "= 16,269,696" in shown
    assert "counted by the rules of torchtitan" in shown
    refused = run(*asked, "counted=megatron")
    assert refused.exit_code == 2
    assert "the rules of Megatron-LM do not cover it" in refused.stderr


def test_document_names_the_rule_set(tmp_path: Any) -> None:
    place = tmp_path / "llama.md"
    assert run("derive", "llama", "-q", "train-flops", "--option", "counted=maxtext", "-o", str(place)).exit_code == 0
    said = place.read_text("utf-8")
    assert "by MaxText's rule" in said
    assert "Counted by the rules of MaxText, src/maxtext/utils/maxtext" in said
    assert "torch counts under" not in said
    assert "Contractions (matrix products) only" not in said
