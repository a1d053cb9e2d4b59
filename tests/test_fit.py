"""What fits: the table of formats against a loop over every context and batch, and against hand arithmetic."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner

import symformer as sf
from symformer.algebra.fit import USUAL
from symformer.commands.cli import cli
from symformer.language.errors import OptionError, SizeError
from tests.samples import sampled

TINY: dict[str, int] = {"V": 392, "E": 128, "H": 256, "L": 4, "A": 4, "G": 2, "D": 32}


def run(*arguments: str) -> tuple[int, str, str]:
    found = CliRunner().invoke(cli, arguments, prog_name="symformer")
    return found.exit_code, found.stdout, found.stderr


def bytes_of(form: str, tensor: int, stage: str, pipeline: int, batch: int, context: int) -> int:
    """Return the bytes of a rank of a Llama of TINY, worked out from its shapes."""
    sizes = TINY
    heads = max(1, sizes["G"] // tensor)  # with 4 ranks, each of the two key/value heads is on two of them
    matrices = [
        (sizes["A"] * sizes["D"] // tensor, sizes["E"]), (heads * sizes["D"], sizes["E"]),
        (heads * sizes["D"], sizes["E"]), (sizes["E"], sizes["A"] * sizes["D"] // tensor),
        (sizes["H"] // tensor, sizes["E"]), (sizes["H"] // tensor, sizes["E"]), (sizes["E"], sizes["H"] // tensor),
    ]  # fmt: skip
    stored = {
        "bf16": lambda rows, cols: 2 * rows * cols,
        "int8": lambda rows, cols: rows * cols + 4 * rows,
        "mxfp4": lambda rows, cols: rows * cols // 2 + rows * cols // 32,
    }[form]
    layers = sizes["L"] // pipeline
    table = 2 * sizes["V"] // tensor * sizes["E"]
    found = layers * (sum(stored(rows, cols) for rows, cols in matrices) + 2 * 2 * sizes["E"])
    found += layers * 2 * batch * context * heads * sizes["D"] * 2
    if stage in ("first", "only"):
        found += table
    if stage in ("last", "only"):
        found += table + 2 * sizes["E"] + 4 * batch * sizes["V"] // tensor
    return found


@pytest.mark.parametrize("seed", sampled(10, range(70)))
def test_contexts_and_batches_are_those_of_brute_force(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311
    devices = draw.choice([1, 2, 4])
    batch, context = draw.randint(1, 5), draw.randint(1, 40)
    room = draw.randint(100_000, 900_000) // devices
    model = sf.model("llama").set(TINY)
    found = sf.fit(model, devices=devices, memory=room, batch=batch, context=context, weights=["bf16", "int8", "mxfp4"])
    for row in found.formats:
        tensor, pipeline = row.tensor, row.pipeline
        assert tensor * pipeline == devices

        def most(
            sequences: int, tokens: int, form: str = row.weights, ranks: int = tensor, stages: int = pipeline
        ) -> int:
            ends = ["only"] if stages == 1 else ["first", "last"]
            return max(bytes_of(form, ranks, end, stages, sequences, tokens) for end in ends)

        assert row.needed == most(batch, context)
        layouts = [(devices // stages, stages) for stages in (1, 2, 4) if devices % stages == 0]
        each = {(ranks, stages): most(batch, context, ranks=ranks, stages=stages) for ranks, stages in layouts}
        fitting = [layout for layout, size in each.items() if size <= room]
        assert (tensor, pipeline) == (fitting[0] if fitting else min(each, key=lambda layout: each[layout]))
        assert row.missing == max(0, row.needed - room)
        longest = max((tokens for tokens in range(1, 4000) if most(batch, tokens) <= room), default=0)
        assert row.context == longest
        assert row.batch == max((number for number in range(1, 4000) if most(number, context) <= room), default=0)
        assert (row.formula is None) == (row.missing > 0 or longest == 0)
        for sequences in range(1, 9) if row.formula else ():
            closed = row.formula.context(room, sequences)
            assert closed == max(
                (tokens for tokens in range(1, 4000) if most(sequences, tokens) <= room), default=closed
            )


def test_llama_3_8b_on_a_device_of_24_gib() -> None:
    """(24 GiB - 16,060,522,496 of weights - 4 * 128,256 of logits) / 131,072 bytes per token = 74,072.02 tokens."""
    (row,) = sf.fit("llama-3-8b", memory="24GiB", weights="bf16").formats
    assert (row.weight_bytes, row.context, row.cap) == (16_060_522_496, 74_072, "")
    assert sf.fit("llama-3-8b", memory="24GiB", weights="gguf:q4_k_m", context=8192).formats[0].batch == 19


def test_a_context_beyond_the_positions_is_capped() -> None:
    found = sf.fit("gpt2", memory="1GB", context=8192, weights="bf16")
    assert found.context == 1023  # GPT-2 has 1,024 positions, one of them for the new token
    assert found.formats[0].context == 1023
    assert "P=1024" in found.formats[0].cap


def test_a_model_without_a_cache_has_any_context() -> None:
    (row,) = sf.fit("mamba-130m", memory="1GB", weights="bf16").formats
    assert row.context is None
    assert row.batch > 1


def test_the_table_and_the_data_have_the_same_rows() -> None:
    status, text, _ = run("fit", "llama-3-8b", "--memory", "12GB")
    assert status == 0
    status, data, _ = run("fit", "llama-3-8b", "--memory", "12GB", "--json")
    assert status == 0
    rows = json.loads(data)["formats"]
    assert {row["weights"] for row in rows} == {*USUAL}
    assert all(row["weights"] in text for row in rows)
    totals = [row["weight_bytes"] for row in rows]
    assert totals == sorted(totals, reverse=True)
    # 16,060,522,496 of weights, 4 * 128,256 of logits and 8,192 * 131,072 of cache less 12e9
    assert next(row["missing"] for row in rows if row["weights"] == "bf16") == 5_134_777_344
    assert "5.13 GB short" in text


def test_no_format_that_fits_has_the_exit_status_1() -> None:
    status, text, _ = run("fit", "llama-3-8b", "--memory", "1GB")
    assert status == 1
    assert "no format fits" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--memory", "0"], "memory=0 is not supported; give the bytes of one device"),
        (["--memory", "24GiB", "--weights", "symbolic"], "weights=symbolic is not supported by fit"),
        (["--memory", "24GiB", "--share", "120%"], "at most 100%"),
        (["--memory", "24GiB", "--reserve", "30GiB"], "leaves nothing"),
        (["--memory", "24GiB", "--weights", "q4"], "gguf:TYPE"),
        ([], "--memory"),
    ],
)
def test_invalid_limits_are_one_sentence(arguments: list[str], message: str) -> None:
    status, _, error = run("fit", "llama-3-8b", *arguments)
    assert status == 2
    assert message in error
    assert "Traceback" not in error


def test_sizes_without_a_value_are_named() -> None:
    with pytest.raises(SizeError, match="llama needs a value for A"):
        sf.fit("llama", memory="1GB")
    with pytest.raises(OptionError, match="devices=0"):
        sf.fit("gpt2", memory="1GB", devices=0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--option", "weights=awq"], "weights=awq is not supported by fit; fit compares formats"),
        (["--option", "context=on"], "context=on is not supported by fit; fit chooses the layout"),
        (["--option", "tensor=on"], "tensor=on is not supported by fit; fit chooses the layout"),
        (["--set", "C=5"], "C=5 is not supported by fit; give the context with --context"),
        (["--set", "N_tp=2"], "N_tp=2 is not supported by fit; fit chooses the layout"),
    ],
)
def test_what_fit_chooses_itself_is_refused(arguments: list[str], message: str) -> None:
    status, _, error = run("fit", "llama-3-8b", "--memory", "24GiB", "--weights", "bf16", *arguments)
    assert status == 2, error
    assert message in error


def test_layers_that_the_stages_do_not_divide_are_shared_out_unevenly() -> None:
    """N_tp = 3 does not divide H = 14336. Of the 32 layers, the first of 3 stages has 11 and the token embedding.

    11 * 218,112,000 * 2 + 128,256 * 4,096 * 2 = 5,849,137,152 bytes.
    """
    (row,) = sf.fit("llama-3-8b", devices=3, memory="24GiB", weights="bf16").formats
    assert (row.tensor, row.pipeline, row.weight_bytes) == (1, 3, 5_849_137_152)


def test_a_refused_format_names_the_reason_of_every_layout() -> None:
    (row,) = sf.fit(sf.model("t5-small").set({"S_enc": 9}), devices=2, memory="24GiB", weights="bf16").formats
    assert "tp 2, pp 1: encoder.block.0.layer.0.SelfAttention.relative_attention_bias: a table of" in row.refused
    assert "; tp 1, pp 2: T5: decoder.block.*" in row.refused


def test_a_cap_on_the_context_is_stated() -> None:
    status, text, _ = run("fit", "gpt2", "--memory", "1GB", "--weights", "bf16")
    assert status == 0
    assert "context 1,023 tokens, the longest that the model supports (8,192 requested)" in text


def test_a_context_too_short_for_a_group_does_not_hide_longer_ones() -> None:
    """DeepSeek-V4 needs a group of 4 tokens, so a context of 1 token is refused, but not one of 8,192."""
    model = sf.model("deepseek-v4-flash")
    (row,) = sf.fit(model, memory="535GiB", weights="bf16").formats
    assert row.context is not None
    total = model.formula("inference-memory", weights="bf16").compile()
    assert total(B=1, C=row.context) <= 535 * 2**30 < total(B=1, C=row.context + 1)


def test_the_group_of_a_config_is_that_of_its_own_format_only(tmp_path: Path) -> None:
    """AWQ with groups of 32; NF4 always has blocks of 64: 128 * 192 / 64 scales of 4 bytes."""
    config = {
        "model_type": "qwen3", "vocab_size": 392, "hidden_size": 128, "intermediate_size": 192, "num_hidden_layers": 1,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "tie_word_embeddings": False,
        "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 32},
    }  # fmt: skip
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config))
    shapes = [(128, 128), (64, 128), (64, 128), (128, 128), (192, 128), (192, 128), (128, 192)]
    kept = 2 * (2 * 392 * 128 + 3 * 128 + 2 * 32)  # tables and norms
    awq = sum(rows * cols // 2 + rows * (cols // 32) // 2 + 2 * rows * (cols // 32) for rows, cols in shapes)
    nf4 = sum(rows * cols // 2 + 4 * (rows * cols // 64) for rows, cols in shapes)
    status, data, _ = run("fit", str(file), "--memory", "1GiB", "--weights", "awq", "--weights", "nf4", "--json")
    assert status == 0
    found = {row["weights"]: row["weight_bytes"] for row in json.loads(data)["formats"]}
    assert found == {"awq": kept + awq, "nf4": kept + nf4}
    assert {
        row.weights: row.weight_bytes for row in sf.fit(file, memory="1GiB", weights=["awq", "nf4"]).formats
    } == found


def test_the_closed_form_with_pages_and_full_windows() -> None:
    """Gemma 2 9B: 21 of 42 layers have a window of 4,096 tokens and keep 4,095; 8 key/value heads of 256 elements.

    Per token: 21 * 2 * 8 * 256 * 2 bytes = 172,032. Per sequence: 4,095 * 172,032 + 4 * 256,000 of logits.
    """
    (row,) = sf.fit("gemma-2-9b", memory="40GB", weights="bf16").formats
    assert row.formula is not None
    assert (row.formula.per_token, row.formula.per_sequence) == (172_032, 4_095 * 172_032 + 1_024_000)
    assert row.formula.fixed == row.weight_bytes
    (paged,) = sf.fit("llama-3-8b", memory="24GiB", weights="bf16", block="16").formats
    # (24 GiB - 16,060,522,496 - 513,024) / (16 * 131,072) = 4,629.5 pages
    assert paged.context == 16 * 4_629
    assert paged.formula is not None
    assert paged.formula.block == 16


@pytest.mark.parametrize("name", ["fit.md", "fit.html", "fit.tex", "fit.typ"])
def test_a_document_has_the_table_and_the_closed_form(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    status, _, error = run("fit", "llama-3-8b", "--memory", "24GiB", "--weights", "bf16", "-o", str(path))
    assert (status, error) == (0, f"wrote {path}\n")
    text = path.read_text("utf-8")
    for said in ("74,072", "16,060,522,496", "exact by layout"):
        assert said in text.replace("{,}", ",")


def test_a_context_beyond_the_positions_of_a_config_is_capped(tmp_path: Path) -> None:
    config = {
        **{"model_type": "llama", "vocab_size": 640, "hidden_size": 256, "intermediate_size": 384},
        **{"num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 4096},
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    status, text, _ = run("fit", str(path), "--memory", "1GB", "--weights", "bf16")
    assert status == 0
    assert "batch 1, context 4,095 tokens, the longest that the model supports (8,192 requested)" in text
    assert "limited by the model: its config has 4,096 positions (max_position_embeddings)" in text
    (row,) = sf.fit(config, memory="1GB", weights="bf16", context=100).formats
    assert row.context == 4095
    assert row.formula is not None
    assert row.formula.context(10**9, 1) > 4096


def test_the_closed_form_has_the_pages_of_an_engine_and_a_shared_prefix() -> None:
    """A page of 32 tokens in TensorRT-LLM, by default: 32 layers, 8 heads of 128 elements, 2 * 2 bytes each.

    100 shared tokens have 3 whole pages, which every sequence but one does not need.
    """
    conventions = {"engine": "tensorrt-llm", "prefix": "shared"}
    model = sf.model("llama-3-8b").set({"C_pre": 100})
    (row,) = sf.fit(model, memory="24GiB", weights="bf16", context=4000, batch=3, **conventions).formats
    assert row.formula is not None
    token = 32 * 8 * 128 * 2 * 2
    assert (row.formula.block, row.formula.per_token) == (32, token)
    assert row.formula.fixed == 16_060_522_496 + 96 * token  # 8,030,261,248 parameters
    assert row.formula.per_sequence == 128_256 * 4 - 96 * token
    code, output, _ = run(
        "fit", "llama-3-8b", "--memory", "24GiB", "--weights", "bf16", "--set", "C_pre=100",
        "--option", "engine=tensorrt-llm", "--option", "prefix=shared",
    )  # fmt: skip
    assert code == 0
    assert f" + {96 * token - 128_256 * 4:,}·B)/{32 * token:,}⌋" in output


def test_a_stage_without_logits_has_no_term_for_each_sequence() -> None:
    """The first of 3 stages of Llama 3 70B has 27 of 80 layers and the embeddings, and the last one has 26."""
    code, output, _ = run("fit", "llama-3.3-70b-instruct", "--gpus", "3", "--memory", "80GiB", "--weights", "bf16")
    assert code == 0
    assert f")/{27 * 8 * 128 * 2 * 2:,}⌋" in output
    assert "0·B" not in output


def test_a_size_of_a_convention_without_a_value_is_refused() -> None:
    with pytest.raises(SizeError, match="llama-3-8b needs a value for C_pre"):
        sf.fit("llama-3-8b", memory="24GiB", weights="bf16", prefix="shared")


def test_a_component_without_a_cache_has_any_batch() -> None:
    (row,) = sf.fit(sf.model("component:gated-mlp").set({"E": 64, "H": 96}), memory="1MB", weights="bf16").formats
    assert (row.weight_bytes, row.context, row.batch) == (3 * 64 * 96 * 2, None, None)
    output = run("fit", "component:gated-mlp", "--memory", "1MB", "--set", "E=64", "--set", "H=96")[1]
    assert " short" not in output


def test_no_stage_is_without_layers() -> None:
    """5 devices divide neither 4 query heads nor 4 layers."""
    (row,) = sf.fit(sf.model("llama").set(TINY), devices=5, memory="1GB", weights="bf16", context=9).formats
    assert "tp 1, pp 5: 5 pipeline stages are more than the 4 layers that they divide" in row.refused


def test_a_document_states_the_basis_of_the_cache(tmp_path: Path) -> None:
    for engine, said in (("transformers", "of the cache are exact for"), ("vllm", "the engine's convention")):
        path = tmp_path / f"{engine}.md"
        given = ("--weights", "awq", "--option", f"engine={engine}", "-o", str(path))
        status, _, _ = run("fit", "llama-3-8b", "--memory", "24GiB", *given)
        assert status == 0
        assert said in path.read_text("utf-8")


def test_conventions_without_effect_are_stated() -> None:
    arguments = ["llama-3-8b", "--memory", "24GiB", "--weights", "bf16", "--option", "state=model"]
    line = "state=model has no effect: llama.inference-memory is the same with state=fp32."
    assert line in CliRunner().invoke(cli, ["fit", *arguments]).stdout.splitlines()
    run = ["layout", "llama-3-8b", "--gpus", "1", "--memory", "24GiB", "--set", "B=1", "--set", "C=9"]
    assert line in CliRunner().invoke(cli, [*run, "--option", "state=model"]).stdout.splitlines()


def test_a_group_size_that_does_not_divide_a_width_has_a_remedy_that_works() -> None:
    """64 divides the width 2,880 of gpt-oss, and 128 does not."""
    arguments = ("fit", "gpt-oss-20b", "--memory", "24GB", "--weights", "awq", "--weights", "gguf:q8_0")
    status, printed, _ = run(*arguments)
    assert status == 1
    assert "awq is not supported: E=2880 is not a multiple of Z_group=128" in printed
    assert "; set Z_group to a divisor\n" in printed
    assert "gguf:q8_0 is not supported for gpt-oss, of which only files of type" in printed
    assert run(*arguments, "--set", "Z_group=64")[0] == 0


def test_a_size_that_follows_from_others_is_not_requested() -> None:
    """The tokens of a page of vLLM follow from the bytes of a state, so the refusals of the layouts are stated."""
    (row,) = sf.fit("nemotron-nano-9b-v2", devices=2, memory="80GB", weights="bf16", engine="vllm").formats
    assert "engine=vllm is not supported with pipeline=first for models with several kinds of layers" in row.refused
