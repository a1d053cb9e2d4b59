"""Multiply-adds of a forward pass: published numbers, half of torch's count, and half of our FLOPs."""

from __future__ import annotations

import pytest
import torch
from click.testing import CliRunner
from torch.utils.flop_counter import FlopCounterMode
from transformers import LlamaConfig, LlamaForCausalLM

import symformer as sf
from symformer.commands.cli import cli as main
from symformer.language.errors import OptionError, SymformerError, UnknownNameError
from symformer.quantities import quantity

# torchvision, models/vision_transformer.py, "_ops" of each weights entry: GMACs to three digits, by its own counter.
TORCHVISION = {
    ("vit-base-patch16-224", 224): 17.564,
    ("vit-base-patch16-224", 384): 55.484,
    ("vit-base-patch32-224", 224): 4.409,
    ("vit-large-patch16-224", 512): 361.986,
    ("vit-huge-patch14-224", 518): 1016.717,
}


@pytest.mark.parametrize(("target", "side"), TORCHVISION)
def test_macs_match_torchvision(target: str, side: int) -> None:
    value = sf.architecture(target).formula("macs").value(B=1, Z=side)
    assert round(value / 10**9, 3) == TORCHVISION[target, side]


def test_macs_are_half_the_flops_of_the_nanogpt_notebook() -> None:
    """1,024 tokens times 12·768² in each of 12 layers and 50,257·768 in the head; 2·1,024²·768 per layer."""
    by_hand = 1024 * (12 * 12 * 768**2 + 50257 * 768) + 12 * 2 * 1024**2 * 768
    assert sf.architecture("gpt2").formula("macs").value(B=1, S=1024) == by_hand == 291_648_307_200 // 2


WAYS = [{}, {"attention": "causal"}, {"logits": "last"}, {"embedding": "matmul"}]


@pytest.mark.parametrize("target", ["gpt2", "bert", "mixtral", "t5", "deepseek-v3", "mamba2", "vit", "gemma2"])
def test_macs_are_half_of_the_flops_in_every_row(target: str) -> None:
    model = sf.architecture(target)
    for way in WAYS:
        macs, flops = model.formula("macs", **way), model.formula("flops", **way)
        assert (2 * macs.expanded - flops.expanded).expand() == 0 != macs.expanded
        ours, theirs = ({row.path: row.total for row in each.rows if row.each != 0} for each in (macs, flops))
        assert ours.keys() == theirs.keys()
        assert all((2 * total - theirs[path]).expand() == 0 for path, total in ours.items())
    assert set(quantity("macs").conventions) == {"attention", "logits", "embedding"}


def test_two_ranks_each_compute_half_of_the_macs() -> None:
    """Two ranks of llama-2-7b have half of every product each."""
    model = sf.architecture("llama-2-7b")
    whole, share = model.formula("macs"), model.formula("macs", tensor="on")
    assert 2 * share.value(B=3, S=7, N_tp=2) == whole.value(B=3, S=7)


def test_macs_are_half_of_the_torch_flop_count() -> None:
    """A Llama of transformers on meta; FlopCounterMode counts 2 FLOPs per multiply-add."""
    sizes = {"L": 3, "V": 101, "E": 24, "H": 52, "A": 6, "G": 2, "D": 4}
    config = LlamaConfig(
        vocab_size=101, hidden_size=24, intermediate_size=52, num_hidden_layers=3, num_attention_heads=6,
        num_key_value_heads=2, head_dim=4, attn_implementation="eager",
    )  # fmt: skip
    with torch.device("meta"):
        built = LlamaForCausalLM(config).eval()
        tokens = torch.zeros(5, 17, dtype=torch.long)
        mask = torch.zeros(5, 1, 17, 17)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        built(input_ids=tokens, attention_mask=mask, position_ids=tokens, use_cache=False)
    counted = counter.get_total_flops()
    assert counted > 0
    model = sf.architecture("llama")
    assert 2 * model.formula("macs").value({**sizes, "B": 5, "S": 17}) == counted


def test_macs_of_a_traced_model_are_half_of_its_flops() -> None:
    """For a class of the catalogue, from its recognized operations."""
    model = sf.model("hf:gpt_neo")
    assert (2 * model.formula("macs").expanded - model.formula("flops").expanded).expand() == 0
    lifted = model.formula("macs", attention="causal")
    assert (2 * lifted.expanded - model.formula("flops", attention="causal").expanded).expand() == 0


def test_elementwise_operations_have_no_macs() -> None:
    with pytest.raises((OptionError, UnknownNameError), match="unknown convention 'count' of macs"):
        sf.architecture("gpt2").formula("macs", count="all")
    assert sf.component("layer-norm").formula("macs").expanded == 0


def test_explain_and_check_distinguish_macs_from_flops() -> None:
    vit = sf.architecture("vit-base-patch16-224")
    assert sf.explain(vit, "17.564 GMACs", "macs").verdict == "rounded"
    gpt2 = sf.architecture("gpt2").set({"B": 1, "S": 1024})
    assert sf.explain(gpt2, "145,824,153,600", "macs").verdict == "exact"
    twice = sf.explain(gpt2, "291,648,307,200", "macs")
    assert twice.match.otherwise == ("each multiply-add counted twice, as FLOPs",)
    with pytest.raises(SymformerError, match="is in FLOPs, but macs is counted in MACs"):
        sf.explain(gpt2, "1 GFLOPs", "macs")
    # 24BSLE² + 4BS²LE + 2BSVE, the FLOPs of GPT-2
    found = sf.check("24 B S L E^2 + 4 B L S^2 E + 2 B S V E", "gpt2", "macs")
    assert [each.name for each in found.conventions] == ["FLOPs are counted, 2 per multiply-add"]
    assert sf.check("12 B S L E^2 + 2 B L S^2 E + B S V E", "gpt2", "macs").verdict == "equal"


def test_list_and_show_include_macs() -> None:
    listed = CliRunner().invoke(main, ["list"]).stdout
    assert "macs" in listed
    shown = CliRunner().invoke(main, ["show", "gpt2", "-q", "macs", "--set", "B=1", "--set", "S=1024"])
    assert "145,824,153,600" in shown.stdout
    assert shown.exit_code == 0
