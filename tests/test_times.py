"""Lower bounds on times: bytes over a bandwidth or FLOPs over a peak, by hand arithmetic, and devices."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from click.testing import CliRunner

import symformer as sf
from symformer.commands.cli import cli
from symformer.devices import chosen_device
from symformer.devices import devices as stored_devices
from symformer.formulas.time_bound import TimeBound
from symformer.language.amounts import rate
from symformer.language.errors import ArithmeticTextError, OptionError, RuleError, SizeError, UnknownNameError

LLAMA = ("show", "llama-3-8b", "-q", "decode-time", "--set", "B=1", "--set", "C=4096")
PAIR = ("--device", "3.35TB/s,989TFLOP/s")

# Llama 3 8B: V=128,256, E=4,096, L=32, H=14,336, A=32, G=8, D=128.
PARAMS = 8_030_261_248
TABLE = 128_256 * 4_096  # the token embedding, which is not tied to the LM head
NORMS = 65 * 4_096  # two per layer and one at the end
MATRICES = PARAMS - TABLE - NORMS


def run(*arguments: str) -> tuple[int, str, str]:
    found = CliRunner().invoke(cli, arguments, prog_name="symformer")
    return found.exit_code, found.stdout, found.stderr


def sides(model: sf.Model, quantity: str, **conventions: str) -> tuple[Fraction, Fraction]:
    """Return the bytes and the FLOPs of a bound."""
    bound = model.formula(quantity, **conventions)
    assert isinstance(bound, TimeBound)
    return bound.amounts(bound.complete(model.known))


def test_decode_time_of_llama_3_8b() -> None:
    """The weights without the table that is only looked up, and 131,072 bytes of cache for each of 4,096 tokens.

    (16,060,522,496 - 2·525,336,576 + 536,870,912) / 3.35e12 = 15,546,720,256 / 3.35e12 = 4.641 ms, and 1/4.641 ms =
    215.5. The FLOPs are 2 per element of a matrix, and 4·L·A·D for each of C + 1 keys: 17,157,324,800, or 17.35 µs.
    """
    moved = 2 * (PARAMS - TABLE) + 131_072 * 4_096
    work = 2 * MATRICES + 4 * 32 * 32 * 128 * 4_097
    assert (moved, work) == (15_546_720_256, 17_157_324_800)
    status, shown, _ = run(*LLAMA, *PAIR)
    assert status == 0
    assert "at least 4.641 ms, at most 215.5 tokens/s; limited by the memory bandwidth" in shown
    assert "15,546,720,256 bytes at 3.35 TB/s take at least 4.641 ms" in shown
    assert "17,157,324,800 FLOPs at 989 TFLOP/s take at least 17.35 µs" in shown
    assert run(*LLAMA, "--device", "989TFLOPS, 3.35TB/s")[1] == shown


def test_json_is_exact() -> None:
    time = Fraction(15_546_720_256, 3_350 * 10**9)
    found = json.loads(run(*LLAMA, "--device", "h100-80gb", "--price", "2.50", "--json")[1])
    bound = found["bound"]
    assert (found["unit"], Fraction(found["value"])) == ("seconds", time)
    assert Fraction(bound["at_least_seconds"]) == time
    assert Fraction(bound["at_most_tokens_per_second"]) == 1 / time
    # a million tokens take 10^6 steps of one token each
    assert Fraction(bound["at_least_price_per_million_tokens"]) == Fraction("2.50") / 3600 * 10**6 * time
    assert (bound["bytes"], bound["tokens"], bound["limited_by"]) == (15_546_720_256, 1, "bandwidth")
    assert (found["device"]["name"], found["device"]["dtype"]) == ("h100-80gb", "bf16")
    assert (found["symbols"]["N_bw"], found["symbols"]["N_peak"]) == (3_350 * 10**9, 989 * 10**12)


def test_price_of_a_batch() -> None:
    """B=8: 15,009,849,344 + 8·536,870,912 bytes = 5.763 ms for 8 tokens; 5.763 ms · 2.5/3600 · 10^6/8 = 0.5002."""
    _, shown, _ = run(*LLAMA[:4], "--set=B=8", "--set=C=4096", "--device", "h100-80gb", "--price", "2.5")
    assert "at least 5.763 ms, at most 1,388 tokens/s" in shown
    assert "at least 0.5002 per million tokens, at 2.5 per hour" in shown


def test_prefill_time_counts_weights_once_and_unmasked_pairs() -> None:
    """Each of S(S+1)/2 pairs has 4·L·A·D FLOPs, and only the last position has logits."""
    model = sf.model("llama-3-8b").set({"B": 3, "S": 512})
    moved, work = sides(model, "prefill-time")
    assert moved == 2 * (PARAMS - TABLE)
    head, pairs = 2 * 128_256 * 4_096, 512 * 513 // 2
    assert work == 3 * (512 * (2 * MATRICES - head) + head + 4 * 32 * 32 * 128 * pairs)
    masked = sides(model, "prefill-time", attention="full")[1]
    assert masked - work == 3 * 4 * 32 * 32 * 128 * (512**2 - pairs)
    on = model.set(sf.devices()["a100-80gb"].sizes()).formula("prefill-time")
    assert on.value() == Fraction(work, 312 * 10**12)


def test_train_time_moves_the_state_once() -> None:
    """16 bytes per parameter with recipe=bf16 and Adam, and a step counter of 4 bytes per tensor: 291 of them."""
    model = sf.model("llama-3-8b").set({"B": 2, "S": 1024})
    moved, work = sides(model, "train-time")
    assert moved == 16 * PARAMS + 4 * (32 * 9 + 3)
    pairs = 1024 * 1025 // 2
    assert work == 3 * 2 * (1024 * 2 * MATRICES + 4 * 32 * 32 * 128 * pairs)


@pytest.mark.parametrize("quantity", ["decode-time", "prefill-time"])
def test_a_tied_table_is_read_as_the_head(quantity: str) -> None:
    """GPT-2 has no other head: its token table counts, and its table of P=1,024 positions of E=768 does not."""
    model = sf.model("gpt2").set({"B": 2, "C" if quantity == "decode-time" else "S": 700})
    cache = 2 * 700 * 2 * 2 * 12 * 768 if quantity == "decode-time" else 0  # keys and values, 2 bytes, 12 layers
    assert sides(model, quantity)[0] == 2 * (124_439_808 - 1_024 * 768) + cache


def test_a_step_reads_the_experts_of_one_token() -> None:
    """Mixtral 8x7B: 12,879,925,248 of 46,702,792,704 parameters are active; V·E = 32,000·4,096 are looked up.

    The router and the norms are read whole, and so are 131,072 bytes of cache for each of 3·500 tokens.
    """
    model = sf.model("mixtral-8x7b").set({"B": 3, "C": 500})
    assert sf.model("mixtral-8x7b").formula("active-params").value() == 12_879_925_248
    assert sides(model, "decode-time")[0] == 2 * (12_879_925_248 - 32_000 * 4_096) + 131_072 * 1_500


def test_an_encoder_does_not_run_in_a_step() -> None:
    """T5 base, L=12, E=H/4=768, A·D=768, V=32,128, P_rel·A=32·12: a step reads the decoder and the tied head.

    A decoder layer has 8 matrices of 768², of which the keys and values of the encoder are cached, the network has
    2·768·3,072, and there are 3 norms per layer and one at the end. The tables of distances are looked up.
    """
    model = sf.model("t5-base").set({"B": 2, "C": 300, "S_enc": 500})
    layer = 6 * 768**2 + 2 * 768 * 3_072 + 3 * 768
    cache = 2 * 2 * 2 * 12 * 768 * (300 + 500)
    assert sides(model, "decode-time")[0] == 2 * (12 * layer + 768 + 32_128 * 768) + cache
    layers = 12 * (4 * 768**2 + 8 * 768**2 + 2 * 2 * 768 * 3_072 + 5 * 768)
    model = sf.model("t5-base").set({"B": 2, "S": 300, "S_enc": 500})
    assert sides(model, "prefill-time")[0] == 2 * (layers + 2 * 768 + 32_128 * 768)


def test_image_projectors_do_not_run_in_a_step() -> None:
    for target in ("llava-1.5-7b", "gemma-3-4b"):
        formula = sf.model(target).formula("decode-time")
        assert "E_vis" not in map(str, formula.symbols)


def test_latents_are_not_expanded_in_the_bound() -> None:
    """A kernel may absorb kv_b_proj instead of running it over the cache, so it counts for one token.

    decode-flops runs it over C + 1 tokens: C · 2·L·R_kv·A·(D_nope + D_v) FLOPs more in each sequence.
    """
    model = sf.model("deepseek-v3").set({"B": 3, "C": 700})
    more = model.formula("decode-flops").value() - sides(model, "decode-time")[1]
    assert more == 3 * 700 * 2 * 61 * 512 * 128 * (128 + 128)


def test_the_bound_is_the_larger_side() -> None:
    """With 10^9 FLOPs per second, the FLOPs take 17.16 s; the bytes take 15.55 ms at 10^12 bytes per second."""
    _, shown, _ = run(*LLAMA, "--device", "1TB/s,1GFLOP/s")
    assert "at least 17.16 s, at most 0.05828 tokens/s; limited by the peak FLOPs" in shown
    bound = sf.model("llama-3-8b").set({"B": 1, "C": 4096, "N_bw": 10**12, "N_peak": 10**9}).formula("decode-time")
    assert bound.value() == Fraction(17_157_324_800, 10**9)
    assert bound.partial(C=4096, B=1).value() == bound.value()


def test_the_dtype_of_the_peak_follows_the_weights() -> None:
    """Kernels of a quantized model may compute in 8 bits, so the bound uses the fastest peak; :bf16 overrides it."""
    asked = ("show", "llama-3-8b", "-q", "prefill-time", "--set=B=1", "--set=S=64", "--option", "weights=fp8")
    for device, dtype, peak in (("h200", "fp8", 1979), ("h200:bf16", "bf16", 989), ("h200:int8", "int8", 1979)):
        found = json.loads(run(*asked, "--device", device, "--json")[1])["device"]
        assert (found["dtype"], found["peak"]) == (dtype, peak * 10**12)
    plain = json.loads(run(*LLAMA, "--device", "t4", "--json")[1])["device"]
    assert (plain["dtype"], plain["peak"]) == ("fp16", 65 * 10**12)  # a T4 has no bf16


def test_a_utilization_takes_the_peak_of_a_device() -> None:
    """Chowdhery et al. 2022 give 46.2 % on TPU v4 of 275 TFLOPs: 46.2·275/459 = 27.7 on TPU v5p."""
    sizes = ("--set=S=2048", "--set=N_tps=238300", "--set=N_dev=6144")
    _, shown, _ = run("show", "palm-540b", "-q", "mfu", *sizes, "--device", "tpu-v5p")
    assert "(about 27.7%)" in shown
    assert "tpu-v5p (Google TPU v5p): 459 TFLOP/s in bf16" in shown


@pytest.mark.parametrize(
    ("text", "value"),
    [("3.35TB/s", 3_350 * 10**9), ("800 GiB/s", 800 * 2**30), ("1.5PFLOP/s", 15 * 10**14), ("65TFLOPS", 65 * 10**12)],
)
def test_a_rate_is_exact(text: str, value: int) -> None:
    assert rate(text) == value


@pytest.mark.parametrize(
    ("device", "sentence"),
    [
        ("h100", "unknown device 'h100'; did you mean h100-80gb or h100-pcie?"),
        ("abacus", "unknown device 'abacus'; known: h100-80gb, "),
        ("h100-80gb:fp4", "no source states the peak FLOPs of h100-80gb in fp4; it has bf16, fp16, fp8, int8, fp32"),
        ("h100-80gb:half", "'half' is not a dtype of a peak; choose bf16, fp16, fp8, int8, fp32 or fp4"),
        ("m4-max-128gb", "no source states the peak FLOPs of m4-max-128gb; give its bandwidth and a peak"),
        ("3.35,989", "'3.35' has no unit; write bytes as in 3.35TB/s, or FLOPs as in 989TFLOP/s"),
        ("3.35TB/s", "'3.35TB/s' has no peak; give a bandwidth and a peak, such as 3.35TB/s,989TFLOP/s"),
        ("989TFLOP/s", "'989TFLOP/s' has no bandwidth; give a bandwidth and a peak"),
        ("3TB/s,4TB/s", "'3TB/s,4TB/s' has two bandwidths; give one bandwidth and one peak"),
        ("3TB,989TFLOP/s", "'3TB' is not per second; write bytes as in 3.35TB/s"),
        ("3TBps,989TFLOP/s", "'3TBps' has the unknown unit 'TBps'"),
        ("0TB/s,989TFLOP/s", "'0TB/s' is 0; a device needs a positive rate"),
    ],
)
def test_a_device_that_cannot_be_used_is_one_sentence(device: str, sentence: str) -> None:
    status, shown, said = run(*LLAMA, "--device", device)
    assert (status, shown) == (2, "")
    assert said.startswith(f"symformer: {sentence}")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("show", "gpt2", "--device", "l4"), "params does not depend on a device; remove --device"),
        ((*LLAMA, *PAIR, "--set", "N_bw=5"), "N_bw is given twice, with --device and with --set; keep one"),
        ((*LLAMA, *PAIR, "--price", "cheap"), "'cheap' is not a price; write the price of the device per hour"),
        ((*LLAMA, *PAIR, "--price", "0"), "'0' is not a price"),
        ((*LLAMA, "--price", "3"), "--price needs a value for N_peak, N_bw; set each with --device or --set"),
        (("show", "gpt2", "--price", "3"), "--price needs a time, and params is not one; select decode-time"),
        ((*LLAMA, *PAIR, "--part", "layers"), "llama.decode-time is defined only for the whole model, not for a part"),
        ((*LLAMA, *PAIR, "--conventions"), "--conventions cannot be combined with --device; remove one of the two"),
        (
            (*LLAMA, *PAIR, "--option", "tensor=on", "--set", "N_tp=2", "--price", "3"),
            "--price is the price of one device, and this model is on several ranks; remove --price",
        ),
        (("compare", "gpt2", "llama-3-8b", "-q", "decode-time"), "decode-time is a lower bound, which does not add up"),
        (("explain", "gpt2", "17", "-q", "decode-time"), "decode-time is in seconds; explain accepts only counts"),
        (
            ("derive", "gpt2", "-q", "train-time", "--live", "-o", "page.html"),
            "a live page shows counts and ratios, and train-time is a lower bound; omit --live",
        ),
        (("list", "--devices", "--presets"), "--presets cannot be combined with --devices; remove one of the two"),
    ],
)
def test_unsupported_requests_for_a_time_are_one_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    status, _, said = run(*arguments)
    assert status == 2
    assert said.startswith(f"symformer: {sentence}"), said
    assert said.count("\n") == 1


def test_models_without_a_bound_are_refused() -> None:
    with pytest.raises(RuleError, match="this attention is not causal"):
        sf.architecture("bert").formula("decode-time")
    with pytest.raises(RuleError, match="not known for attention that chooses or compresses keys"):
        sf.architecture("deepseek-v32").formula("decode-time")
    with pytest.raises(SizeError, match="is defined only for the whole model"):
        sf.architecture("gpt2").formula("train-time").part("h")
    assert run("show", "vit", "-q", "train-time", "--device", "a10", "--set=B=2")[0] == 0


def test_conventions_show_every_bound_in_seconds() -> None:
    sizes = ("--set=N_bw=3350000000000", "--set=N_peak=989000000000000")
    status, shown, _ = run(*LLAMA, *sizes, "--conventions")
    assert status == 0
    assert "≥ 4.641 ms" in shown


def test_a_bound_is_written_with_both_sides(tmp_path) -> None:
    page = tmp_path / "times.md"
    sizes = ("--set=B=1", "--set=C=4096", "--set=N_bw=3350000000000", "--set=N_peak=989000000000000")
    assert run("derive", "llama-3-8b", "-q", "decode-time", *sizes, "-o", str(page))[0] == 0
    text = page.read_text("utf-8")
    assert "the time is **at least 4.641 ms**" in text
    assert "## Bytes that a decoding step reads" in text
    assert "## FLOPs of a decoding step" in text


def test_every_device_has_a_source_and_stated_values() -> None:
    wanted = """h100-80gb h100-pcie h200 h20 a100-40gb a100-80gb b200 gb200 l4 l40s a10 t4 v100-16gb v100-32gb rtx-3090
    rtx-4090 rtx-5090 rtx-a6000 mi250x mi300x mi325x mi355x gaudi-3 tpu-v5e tpu-v5p m2-ultra-192gb m3-max-128gb
    m4-max-128gb"""
    assert set(wanted.split()) <= stored_devices().keys()
    for name, device in stored_devices().items():
        assert device.source, name
        assert None not in (device.memory, device.bandwidth), name
        assert 10**10 < device.memory < 10**12, name
        assert 10**11 < device.bandwidth < 10**13, name
        assert all(10**12 < peak < 2 * 10**16 for peak in device.peak.values()), name
        assert max(device.peak.values(), default=0) <= 10 * min(
            (value for dtype, value in device.peak.items() if dtype in ("bf16", "fp16")), default=0
        ), name


def test_devices_are_listed() -> None:
    """NVIDIA states 80 GB, 3.35 TB/s, and 1,979 TFLOPS of bf16 with sparsity, which is 989 without."""
    found = sf.devices()["h100-80gb"]
    assert (found.memory, found.bandwidth) == (80 * 10**9, 3_350 * 10**9)
    assert found.sizes() == {"N_bw": 3_350 * 10**9, "N_peak": 989 * 10**12}
    assert found.sizes("fp8")["N_peak"] == 1_979 * 10**12
    with pytest.raises(OptionError, match="no source states the peak FLOPs of m3-max-128gb"):
        sf.devices()["m3-max-128gb"].sizes()
    with pytest.raises(UnknownNameError, match="did you mean l4"):
        chosen_device("l4s")
    with pytest.raises(ArithmeticTextError, match="has no unit"):
        rate("3.35")
    told = json.loads(run("list", "--devices", "--json")[1])
    assert told["mi300x"]["memory"] == 192 * 10**9
    assert "h100-80gb" in run("list", "--devices")[1]


def test_fit_takes_a_device_by_name() -> None:
    """An H200 has 141 GB, as NVIDIA states it."""
    asked = ("fit", "gpt2", "--weights", "bf16", "--context", "512", "--json")
    named, given = run(*asked, "--gpu", "h200"), run(*asked, "--memory", "141GB")
    assert named == given
    assert json.loads(named[1])["memory"] == 141 * 10**9
    for extra, sentence in (
        ((), "give the memory of one device, as in --memory 80GiB, or its name, as in --gpu h100-80gb"),
        (("--gpu", "h200", "--memory", "1GB"), "--memory and --gpu cannot be combined; remove one of the two"),
        (("--gpu", "h20x"), "unknown device 'h20x'; did you mean"),
    ):
        status, _, said = run(*asked, *extra)
        assert status == 2
        assert said.startswith(f"symformer: {sentence}"), said
