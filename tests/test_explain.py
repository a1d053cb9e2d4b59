"""Explanations of published numbers: public questions with answers by hand, wrong numbers, and the command."""

from __future__ import annotations

import json
from random import Random  # seeded, so that it is reproducible

import pytest
from click.testing import CliRunner, Result

import symformer as sf
from symformer.algebra.explain import Explanation, explain
from symformer.algebra.number_claims import number_claims
from symformer.commands.cli import cli

from .samples import sampled

SEED = 14


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["explain", *arguments])


# Published numbers and their targets: the verdict, the explained number, and words of the explanation.
QUESTIONS: dict[str, tuple[str, str, str, int, str]] = {
    # V·E + P·E + L(12E² + 13E) + 2E = 38,597,376 + 786,432 + 12·7,087,872 + 1,536
    "GPT-2 is 124M": ("gpt2", "124M", "rounded", 124_439_808, "rounded to 3 digits"),
    # plus another 50,257·768 = 38,597,376
    "why 163M and not 124M": ("gpt2", "163,037,184", "convention", 163_037_184, "the tied head counted a second time"),
    "163M, rounded": ("gpt2", "163M", "convention", 163_037_184, "the tied head counted a second time"),
    # GPT-1's vocabulary has 40,478 rows: 124,439,808 − 9,779·768 = 116,929,536
    "the paper's 117M": (
        "gpt2",
        "117M",
        "convention",
        116_929_536,
        "a vocabulary of 40,478 (GPT-1's) instead of 50,257",
    ),
    # L(12E² + 13E) + 2E = 12·7,087,872 + 1,536
    "85M without embeddings": ("gpt2", "85M", "convention", 85_056_000, "every embedding left out"),
    # L(12E² + 13E), with the pooler and the embeddings left out: 12·7,087,872
    "BERT's encoder alone": (
        "bert-base-uncased",
        "85,054,464",
        "convention",
        85_054_464,
        "only the layers counted",
    ),
    # 12LE²: 12 · 12 · 768²
    "Kaplan's N": ("gpt2", "84,934,656", "convention", 84_934_656, "only the weight matrices of the layers counted"),
    # the Hub's 137M: 12 masks of 1,024 · 1,024 are stored in addition to 124,439,808
    "the Hub's 137M": ("gpt2", "137M", "convention", 137_022_720, "the causal-mask buffers"),
    # and its file: (124,439,808 + 12,582,912) · 4
    "a file of 548 MB": ("gpt2", "548 MB", "convention", 548_090_880, "4 bytes (fp32)"),
    # nanoGPT without the position embedding: 124,439,808 − 1,024·768
    "nanoGPT's 123.65M": ("gpt2", "123.65M", "convention", 123_653_376, "the position embedding left out"),
    # bias=False: 9E + 2E per layer, and E for the final norm: 11·12·768 + 768 = 102,144
    "nanoGPT with bias=False": ("gpt2", "124,337,664", "convention", 124_337_664, "the biases left out"),
    "GPT-2 XL is 1.5B": ("gpt2-xl", "1.5B", "rounded", 1_557_611_200, "truncated to 2 digits"),
    # llama2.c#378 is about a tied model whose table is counted twice; so is this: 1,235,814,400 + 128,256·2,048
    "a tied head twice": ("llama-3.2-1b", "1,498,482,688", "convention", 1_498_482_688, "tied head counted a second"),
    # llama3#355: H = 53,248; 126(16,384²·2 + 2·16,384·1,024 + 3·16,384·53,248 + 2·16,384) + 2·128,256·16,384 + 16,384
    "llama3#355": ("llama-3.1-405b", "405,853,388,800", "exact", 405_853_388_800, "exactly"),
    # G = 64 instead of 8: 80 · 2 · 8,192 · (64 − 8) · 128 = 9,395,240,960 more than 68,976,648,192
    "I get 78B for Llama-2-70B": (
        "llama-2-70b",
        "78B",
        "convention",
        78_371_889_152,
        "keys and values for all 64",
    ),
    # tied: 151,936·2,560 + 36(2·2,560·4,096 + 2·2,560·1,024 + 3·2,560·9,728 + 2·2,560 + 2·128) + 2,560
    "Qwen3-4B": ("qwen3-4b", "4,022,468,096", "exact", 4_022_468_096, "exactly"),
    # 2 bytes per parameter, of 6,738,415,616
    "Llama-2 7B takes 13.5 GB": ("llama-2-7b", "13.5 GB", "rounded", 13_476_831_232, "at 2 bytes (bf16 or fp16)"),
    # 13,476,831,232 / 2**30 = 12.551
    "12.6 GB are GiB": ("llama-2-7b", "12.6 GB", "convention", 13_476_831_232, "which is 12.55 GiB"),
    # a scale for each of 4·4,096 + 2·11,008 + 4,096 rows in 32 layers, and for 2·32,000: 1,423,872
    "int8 with scales": (
        "llama-2-7b",
        "6,739,839,488",
        "convention",
        6_739_839_488,
        "int8 scale per output channel",
    ),
    # 4-bit inner weights, 6,476,005,376 elements: /8 + /128 + /1,024 + 32(6·4,096 + 11,008), and 262,410,240 unpacked
    "a packed checkpoint's 1.13B": ("llama-2-7b", "1.13B", "convention", 1_129_967_616, "GPTQ"),
    # 7·(2E + E)·28 + 7·2E for weights on all eight ranks, and 8E for a bias: 610·4,096 = 2,498,560
    "GPT-J's 6,053,381,344": (
        "gpt-j-6b",
        "6,053,381,344",
        "convention",
        6_053_381_344,
        "each of 8 model-parallel ranks",
    ),
    # 256 in each of 58 routers = 14,848
    "DeepSeek-V3 with its buffers": (
        "deepseek-v3",
        "671,026,419,200",
        "convention",
        671_026_419_200,
        "correction-bias buffers",
    ),
    # a mixture-of-experts layer of 11,507,286,016, 2·7,168² + 3·7,168, and 2·129,280·7,168 = 13,463,426,048
    "and with its MTP layer": (
        "deepseek-v3",
        "684,489,830,400",
        "convention",
        684_489_830_400,
        "multi-token-prediction",
    ),
    # 201,088 rows of 2,880, 579,133,440 in total: 4,187,440,704 minus those
    "gpt-oss-20b's 3.61B active": (
        "gpt-oss-20b",
        "3.61B active",
        "convention",
        3_608_307_264,
        "the token embedding or",
    ),
    "Mixtral's 12.9B": (
        "mixtral-8x7b",
        "12.9B",
        "convention",
        12_879_925_248,
        "only the experts that a token is routed to",
    ),
    # two rows before the first position and one segment, of 768; the pooler's 768² + 768
    "512 positions, no segments": ("roberta-base", "124,052,736", "convention", 124_052_736, "the pooler left out"),
    # 14² + 1 = 197 numbers of positions
    "position ids": ("clip-vit-base-patch16", "149,620,934", "convention", 149_620_934, "counted as parameters"),
    # 1,500 rows of sines, 384 wide: 576,000
    "sines left out": ("whisper-tiny.en", "37,184,256", "convention", 37_184_256, "fixed sinusoidal"),
    # diffusers: in each of 27 blocks 1,001·1,152 + 256·1,152 + 1,152² + 2·1,152 more, and the 256·1,152 sines are a
    # buffer
    "DiT as diffusers stores it": ("dit-xl-2", "749,826,464", "convention", 749_826_464, "embedders=each"),
    # the 256 rows of sines, 768 wide: 130,512,416 − 196,608
    "DiT without sines": ("dit-b-2", "130,315,808", "convention", 130_315_808, "the fixed sinusoidal positions"),
    # 30,522·768 + 514·768 + 2·768 + 12(12·768² + 13·768) + 768² + 768; the paper's 110M has two digits
    "BERT-base is 110M": ("bert-base-uncased", "110M", "rounded", 109_482_240, "rounded to 2 digits"),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_public_questions_are_explained(question: str) -> None:
    target, number, verdict, value, because = QUESTIONS[question]
    found = explain(target, number)
    assert found.verdict == verdict, found.reason
    assert found.value == value
    assert because in found.reason
    assert found.reason.startswith(f"{number} is ")
    assert target in found.reason


# FLOPs, with sizes of a run, and the quantity if it is given.
RUNS: dict[str, tuple[str, str, dict[str, int], str | None, str, int, str]] = {
    # 12(24·1,024·768² + 4·1,024²·768) + 2·1,024·50,257·768
    "nanoGPT's forward pass": ("gpt2", "291,648,307,200 FLOPs", {}, None, "exact", 291_648_307_200, "exactly"),
    "in MACs": ("gpt2", "145.8 GMACs", {}, None, "rounded", 145_824_153_600, "the MACs of one forward pass"),
    "MACs called FLOPs": ("gpt2", "145.8 GFLOPs", {}, None, "convention", 145_824_153_600, "counted once, as MACs"),
    # three times the forward pass
    "and backward": ("gpt2", "874,944,921,600 FLOPs", {}, None, "convention", 874_944_921_600, "the backward pass"),
    # 12·4·S²·E minus 12·4·E·S(S+1)/2: half of the core, except for S·E·24
    "causal": ("gpt2", "272,339,828,736 FLOPs", {}, None, "convention", 272_339_828_736, "attention=causal"),
    "2N a token": (
        "llama-2-7b",
        "27.6 TFLOPs",
        {"S": 2048},
        None,
        "convention",
        27_600_550_363_136,
        "attention left out",
    ),
    # torchvision prints 17.56 for 17,563,828,224 multiply-adds
    "torchvision's GFLOPS": ("vit-base-patch16-224", "17.56 GFLOPS", {}, None, "convention", 17_563_828_224, "as MACs"),
    # DiT issue 67, "119 or 228 GFLOPs?": 28 blocks of 12·1,152² products for each of 256 tokens, 6·1,152² for all of
    # them and 2·256²·1,152 for attention are 118,602,989,568; patches, timestep and the end 18,432,000
    "DiT-XL/2's 119 GFLOPs": ("dit-xl-2", "119 GFLOPs", {}, None, "convention", 118_621_421_568, "as MACs"),
    "with a digit more": ("dit-xl-2", "118.6G", {}, None, "convention", 118_621_421_568, "counted once, as MACs"),
    # 2 · 256 · 28 · 12·1,152²
    "and its 228": ("dit-xl-2", "228 GFLOPs", {}, None, "convention", 228_304_355_328, "only the products of tokens"),
    "both": ("dit-xl-2", "237,242,843,136 FLOPs", {}, None, "exact", 237_242_843_136, "exactly"),
    "at 512 by 512": ("dit-xl-2-512", "525 Gflops", {}, None, "convention", 524_538_298_368, "as MACs"),
    # DiT issue 47, by thop: 29,043,671,040, without 28 · 2 · 64² · 1,152
    "thop's 28.8": ("dit-xl-4", "28.8 GMACs", {}, None, "convention", 28_779_429_888, "the attention core (scores"),
    # 2·8·128·80 elements of two bytes
    "a token's cache": ("llama-3-70b", "327,680 bytes", {"C": 1}, "kv-cache", "exact", 327_680, "the key/value cache"),
    "of one byte": ("llama-3-70b", "160 KiB", {"C": 1}, "kv-cache", "convention", 163_840, "dtype="),
    # 60 layers of 512 + 64
    "in elements": ("deepseek-v2", "34.6K elements", {"C": 1}, "kv-cache", "rounded", 34_560, "the elements of the"),
}


@pytest.mark.parametrize("question", RUNS)
def test_run_quantities_are_explained(question: str) -> None:
    target, number, sizes, quantity, verdict, value, because = RUNS[question]
    found = explain(sf.architecture(target).set({"B": 1, **sizes}) if sizes else target, number, quantity)
    assert (found.verdict, found.value) == (verdict, value), found.reason
    assert because in found.reason


def test_lora_parameters_are_explained() -> None:
    """24 layers, queries and values, rank 4: 24 · 2 · 2 · 1,024 · 4 = 393,216; the paper prints 0.35M."""
    model = sf.architecture("opt-1.3b", lora="q_proj,v_proj").set({"E": 1024, "H": 4096, "A": 16, "R": 4})
    assert explain(model, "393,216", "trainable-params").verdict == "exact"
    assert explain(model, "0.39M", "trainable-params").verdict == "rounded"
    printed = explain(model, "0.35M", "trainable-params")
    assert (printed.verdict, printed.value, printed.difference) == ("unexplained", 393_216, -43_216)
    assert "lora=q_proj,v_proj, E = 1,024" in printed.reason


# The most plausible explanation of a number comes first: the plain count, exactly, in GB or in GiB; the size in the
# name times bytes; another head; embeddings; rarer conventions. Formats that no file uses are not listed.
PLAUSIBLE: dict[str, tuple[str, str, str, int, str]] = {
    # 7B · 2 bytes; all 6,738,415,616 take 13,476,831,232
    "7B at 2 bytes": ("llama-2-7b", "14 GB", "convention", 14_000_000_000, "the 7B in its name"),
    "7B at 4 bytes": ("llama-2-7b", "28 GB", "convention", 28_000_000_000, "the 7B in its name"),
    # 7B · 4 bits; the matrices in 4 bits and the rest in 2 bytes would take 3,762,823,168
    "7B at 4 bits": ("llama-2-7b", "3.5 GB", "convention", 3_500_000_000, "at 4 bits"),
    # 70B · 1 byte; 68,976,648,192 would be printed as 69 GB
    "70B at 1 byte": ("llama-2-70b", "70 GB", "convention", 70_000_000_000, "at 1 byte (int8 or fp8)"),
    # 68,976,648,192 · 2 = 137,953,296,384 is 1.4 · 10^11 to two digits, so the exact count comes first
    "all of 70B": ("llama-2-70b", "140 GB", "rounded", 137_953_296_384, "rounded to 2 digits"),
    # 8,030,261,248 · 2 / 2^30 = 14.957
    "8B in GiB": ("llama-3-8b", "15.0 GB", "convention", 16_060_522_496, "which is 14.96 GiB"),
    # 124,439,808 · 2 / 2^30 = 0.23178
    "GPT-2 in GiB": ("gpt2", "0.23 GB", "convention", 248_879_616, "which is 0.2318 GiB"),
    # E = 1,024, L = 24: 335,141,888 and the head of BertForPreTraining, 1,024² + 1,024 + 2 · 1,024 + 30,522 of masked
    # words, and 2 · 1,024 + 2 of next sentences: 1,084,220
    "BERT's head": ("bert-large-uncased", "336M", "convention", 336_226_108, "with head=pretraining"),
    # 32 layers of 4 · 4,096² + 3 · 4,096 · 11,008 = 6,476,005,376 at half a byte each, and 262,410,240 at two
    "the matrices in 4 bits": ("llama-2-7b", "3.76 GB", "convention", 3_762_823_168, "weight matrices in 4 bits:"),
    # plus a scale of 2 bytes and a zero point of half a byte per 128: 3,762,823,168 + 6,476,005,376 · 2.5 / 128
    "as AutoAWQ stores them": ("llama-2-7b", "3.89 GB", "convention", 3_889_307_648, "(AWQ)"),
}


@pytest.mark.parametrize("name", PLAUSIBLE)
def test_the_most_plausible_explanation_comes_first(name: str) -> None:
    target, number, verdict, value, because = PLAUSIBLE[name]
    found = explain(target, number)
    assert (found.verdict, found.value) == (verdict, value), found.reason
    assert because in found.reason


def test_an_exact_number_of_gib_is_reported_as_exact() -> None:
    """2 · 32 layers · 32 heads of 128 elements · 4,096 tokens · 2 bytes = 2^31, which is 2 GiB and 2.147 GB."""
    model = sf.architecture("llama-2-7b").set({"B": 1, "C": 4096})
    found = explain(model, "2 GB", "kv-cache")
    assert (found.verdict, found.value, found.match_kind) == ("convention", 2**31, "exact")
    assert found.reason.endswith("which is exactly 2 GiB")
    # to three digits it is 2.15 GB, rounded
    found = explain(model, "2.15 GB", "kv-cache")
    assert (found.verdict, found.value) == ("rounded", 2**31)


@pytest.mark.parametrize("number", sampled(7, ["14 GB", "70 GB", "3.5 GB", "3.9 GB", "7.0 GB", "15 GB", "27.5 GB"]))
def test_packed_weights_are_not_offered_at_other_widths(number: str) -> None:
    """Packed formats are offered only if the other weights have 2 bytes, not 4."""
    for target in ("llama-2-7b", "llama-2-70b"):
        found = explain(target, number)
        for each in (found.match, *found.equally_good):
            names = [name for name in each.otherwise if not name.startswith("weights=")]
            packed = [name for name in names if "bit" in name or "int8" in name or "fp8" in name]
            assert not packed or each.method.scale == 2, found.reason


def test_size_in_a_name_is_not_offered_for_other_sizes() -> None:
    """14 GB is not explained by 7B for a Llama with 16 layers, nor for 8x7b."""
    halved = explain(sf.architecture("llama-2-7b").set({"L": 16}), "14 GB")
    assert "in its name" not in halved.reason
    assert "in its name" not in explain("mixtral-8x7b", "14 GB").reason


def test_size_in_a_name_is_within_a_quarter_of_the_count() -> None:
    """Gemma 7B has 8,537,680,896 parameters, 1.22 times the 7B in its name; Gemma 2B has 2,506,172,416, 1.253 times."""
    assert "with the 7B in its name" in explain("gemma-7b", "14 GB").reason
    assert "in its name" not in explain("gemma-2b", "4 GB").reason


def test_given_convention_is_not_varied() -> None:
    """12·4·768·1,024·1,025/2 = 19,346,227,200 for a causal core, and 252,993,601,536 for the rest."""
    found = explain("gpt2", "272,339,828,736", "flops", attention="causal")
    assert (found.verdict, found.value) == ("exact", 272_339_828_736)
    full = explain("gpt2", "291,648,307,200", "flops", attention="causal")
    assert full.verdict == "unexplained"
    model = sf.architecture("gpt-neo-125m").set({"B": 1, "S": 64})
    assert explain(model, "1", "activations", implementation="megatron").verdict == "unexplained"


def test_rules_of_thumb() -> None:
    """6 FLOPs for each of 124,439,808 parameters and 1,024 tokens; and for those outside of tables, 85,056,000."""
    found = explain("gpt2", "764,558,180,352", "train-flops")
    assert (found.verdict, found.value) == ("convention", 6 * 124_439_808 * 1024)
    found = explain("gpt2", "522,584,064,000", "train-flops")
    assert (found.verdict, found.value) == ("convention", 6 * 85_056_000 * 1024)
    assert "every embedding left out" in found.reason


def test_padded_vocabulary_is_recognized() -> None:
    """NanoGPT pads 50,257 to 50,304: 47 more rows of 768."""
    found = explain("gpt2", "124,475,904")
    assert (found.verdict, found.difference) == ("convention", 47 * 768)
    assert "a vocabulary of 50,304 (padded to a multiple of 64 or 128) instead of 50,257" in found.reason


def test_fitting_vocabulary_is_only_a_hint() -> None:
    found = explain("gpt2", f"{124_439_808 + 3 * 768:,}")
    assert found.verdict == "unexplained"
    assert found.reason.endswith("with a vocabulary of 50,260 the match would be exact")
    assert "vocabulary" not in explain("gpt2", "124,439,809").reason


def test_explanations_use_exact_arithmetic() -> None:
    with pytest.raises(sf.SymformerError, match="is a float"):
        explain("gpt2", 124.4e6)  # type: ignore[arg-type]


def test_explanation_defines_the_sizes_that_its_formula_names() -> None:
    printed = run("llama-3.1-8b", "4920739232").stdout  # Q4_K_M gives some layers better types
    assert "L_better" in printed
    assert printed.count("where L_better = L + ") == 1


def test_explanation_states_its_formula_and_rows() -> None:
    found = explain("gpt2", "163,037,184")
    assert str(found.change) == "E*V"
    assert found.rows == [("the tied head counted a second time", ("lm_head",), 38_597_376)]
    assert str(explain("gpt2", "117M").change) == "-9779*E"  # 40,478 − 50,257
    assert str(explain("roberta-base", "124,055,040").change) == "-E**2 - E"


def test_equally_good_explanations_are_listed() -> None:
    """85,056,000 without both tables, and 1,536 less without the final norm; 12LE² = 84,934,656 rounds to 85M too."""
    lines = explain("gpt2", "85M").alternatives
    assert [line.rpartition(" ")[2] for line in lines] == ["85,054,464", "84,934,656"]
    active = explain("deepseek-v3", "37B active")
    assert active.verdict == "rounded"
    assert any("36,625,603,584" in line for line in active.alternatives)


def test_number_matched_by_many_counts_is_not_explained() -> None:
    """Just beyond the range of 124M, any small change of a count would explain it."""
    model = sf.architecture("gpt2").set({"V": 50337})  # 124,501,248
    found = explain(model, "124M")
    assert found.verdict == "rounded"  # truncated
    model = sf.architecture("gpt2").set({"V": 50333})  # 124,498,176: 125M is 1,824 away
    found = explain(model, "125M")
    assert found.verdict == "unexplained"
    assert "different counts match it" in found.reason
    assert explain("gpt2", "0.8 TFLOPs").verdict == "unexplained"  # one digit


@pytest.mark.parametrize("group", sampled(10, range(10)))
def test_numbers_with_a_wrong_digit_are_not_explained(group: int) -> None:
    """An exact number with a changed digit matches no known count, and the nearest count is named."""
    random = Random(SEED + group)  # noqa: S311
    exact = [each for each in number_claims() if each.verdict == "exact" and not each.quantity and not each.sets]
    for _ in range(2):
        entry = random.choice(exact)
        place = random.choice([at for at, each in enumerate(entry.printed) if at and each.isdigit()])
        digit = random.choice([each for each in "0123456789" if each != entry.printed[place]])
        wrong = entry.printed[:place] + digit + entry.printed[place + 1 :]
        found = explain(entry.model, wrong)
        assert found.verdict == "unexplained", (group, found.reason)
        assert f"{wrong} cannot be identified as a count of {entry.target}" in found.reason


def test_the_nearest_count_has_a_unit() -> None:
    assert "is 4,080,263,168 bytes (180,263,168 more)" in explain("llama-2-7b", "3.9 GB Q4_K_M").reason


def test_large_numbers_are_matched_exactly() -> None:
    """A trillion parameters, exactly: 105 layers of width 2**15."""
    model = sf.architecture("gpt2").set({"E": 2**15, "H": 2**17, "A": 256, "L": 105, "V": 2**17, "P": 2**13})
    value = 105 * (12 * 2**30 + 13 * 2**15) + (2**17 + 2**13) * 2**15 + 2 * 2**15
    assert explain(model, f"{value:,}").verdict == "exact"
    assert explain(model, f"{value + 1:,}").verdict == "unexplained"
    again = explain(model, f"{value + 2**32:,}")
    assert (again.verdict, again.difference) == ("convention", 2**32)  # the tied head's 2**17 · 2**15


def test_explanation_output() -> None:
    found = sf.explain("gpt2", "163,037,184")
    assert isinstance(found, Explanation)
    assert repr(found) == (
        "<convention: 163,037,184 is the number of parameters of gpt2, with the tied head counted a second time: "
        "124,439,808 + 38,597,376 = 163,037,184, exactly>"
    )
    shown = found._repr_mimebundle_()
    assert "163,037,184" in shown["text/html"]
    assert "V E" in shown["text/latex"]
    assert sf.explain("gpt2", 163_037_184).verdict == "convention"


def test_explanation_json() -> None:
    result = run("gpt2", "117M", "--json")
    facts = json.loads(result.stdout)
    assert result.exit_code == 0
    assert {name: facts[name] for name in ("verdict", "value", "difference", "formula", "fits")} == {
        "verdict": "convention",
        "value": 116_929_536,
        "difference": -7_510_272,
        "formula": "-9779*E",
        "fits": "rounded",
    }
    assert facts["rows"][0]["rows"] == ["wte"]
    assert "40,478" in facts["because"]
    assert run("gpt2", "117M", "--json").stdout == result.stdout
    facts = json.loads(run("gpt2", "131M", "--json").stdout)
    assert (facts["verdict"], facts["value"], facts["difference"]) == ("unexplained", 124_439_808, 6_560_192)


def test_difference_has_a_formula_only_if_it_gives_the_value() -> None:
    """1 byte for everything except a table of 32,000 · 4,096; the plain count has 2 bytes for all 6,738,415,616."""
    facts = json.loads(run("llama-2-7b", "6.61 GB", "--json").stdout)
    assert facts["value"] == 6_738_415_616 - 32_000 * 4_096
    assert facts["difference"] == facts["value"] - 2 * 6_738_415_616
    assert facts["formula"] is None  # the difference of the second step alone is not a difference of the two
    assert [(row["what"], row["value"]) for row in facts["rows"]] == [
        ("the size, at 1 byte (int8 or fp8) each, of the parameters", -6_738_415_616),
        ("either the token embedding or the head left out", -32_000 * 4_096),
    ]


def test_exit_status() -> None:
    assert [run("gpt2", number).exit_code for number in ("124,439,808", "124M", "117M", "131M")] == [0, 0, 0, 1]


def test_explanation_on_the_terminal() -> None:
    lines = run("llama-2-70b", "78B").stdout.splitlines()
    assert lines[0].endswith("68,976,648,192 + 9,395,240,960 = 78,371,889,152, which rounds to 78B")
    assert any("layers.*.self_attn.k_proj" in line and "9,395,240,960" in line for line in lines)


REFUSED = {
    ("gpt2", "banana"): "does not begin with a number",
    ("gpt2", "70 %"): "'70 %' is a percentage",
    ("gpt2", "124M", "-q", "intensity"): "is in FLOPs/byte; explain accepts only counts",
    ("gpt2", "12 GB", "-q", "params"): "'12 GB' is in bytes, but params is counted in elements",
    ("gpt2", "124M", "-q", "nothing"): "unknown quantity 'nothing'",
    ("gpt-2", "124M"): "did you mean gpt2",
    ("llama", "7B"): "name a preset, or set each with --set",
    ("llama-2-7b", "13 TFLOPs"): "give it as --set S=2048",
    ("gpt2", "124M", "-q", "flops", "--option", "attention=half"): "attention=half",
    ("gpt2", "124M", "--option", "attention=causal"): "it is a convention of",
    ("gpt2", "124M", "--set", "E=0"): "E",
}


@pytest.mark.parametrize("arguments", REFUSED, ids=" ".join)
def test_invalid_numbers_are_refused(arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert REFUSED[arguments] in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(("target", "printed"), [("llama-2-70b", "70B"), ("qwen2.5-7b", "7B")])
def test_the_size_in_a_name_is_not_explained_by_other_conventions(target: str, printed: str) -> None:
    """Llama 2 70B has 68,976,648,192 parameters, and Qwen2.5 7B 7,615,616,512: neither rounds to that size."""
    found = sf.explain(target, printed)
    assert f"the {printed} in its name" in found.reason
    assert f"instead of {sf.model(target).params.value():,} parameters" in found.reason
    assert "the exact count" not in found.reason
