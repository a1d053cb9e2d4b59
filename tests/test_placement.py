"""The share of one rank, compared with torch's DTensor and FSDP2 over a fake process group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
import torch.distributed as dist
from sympy import Expr
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import (
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MixtralConfig,
    MixtralForCausalLM,
)

import symformer as sf
from symformer.components.base import Component
from symformer.language.arithmetic import parse
from symformer.language.errors import OptionError, RuleError, SizeError
from symformer.language.sizes import evaluate
from symformer.language.symbols import B, H, N_cp, N_tp, S, X, symbol
from symformer.ledger.facts import OperationKind, Tensor
from symformer.ledger.operations import Operations
from symformer.ledger.placement import REDUCED, Cut

RANKS = 2
# All sizes differ, and divisibility holds: RANKS | V, H, A, G; and E = 48 | rows for FSDP2.
LLAMA = {"V": 52, "E": 48, "H": 44, "L": 3, "A": 8, "G": 4, "D": 10}
BERT = {"V": 58, "V_type": 3, "P": 17, "E": 24, "H": 38, "L": 5, "A": 6}


@pytest.fixture(scope="module")
def mesh() -> Iterator[DeviceMesh]:
    """A process group without communication, which is enough to see what one rank stores and would send."""
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=RANKS)
    yield init_device_mesh("cpu", (RANKS,))
    dist.destroy_process_group()


def llama(layers: int = LLAMA["L"]) -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=LLAMA["V"],
        hidden_size=LLAMA["E"],
        intermediate_size=LLAMA["H"],
        num_hidden_layers=layers,
        num_attention_heads=LLAMA["A"],
        num_key_value_heads=LLAMA["G"],
        head_dim=LLAMA["D"],
        attn_implementation="eager",
    )
    return LlamaForCausalLM(config)


def divided_llama(mesh: DeviceMesh, sequence: bool) -> LlamaForCausalLM:
    """Parallelize Llama with torch's styles: columns, then rows, with whole or sequence-sharded tensors between."""
    model = llama()
    between = Shard(1) if sequence else Replicate()
    plan: dict[str, Any] = {
        "model.embed_tokens": RowwiseParallel(input_layouts=Replicate(), output_layouts=between),
        "lm_head": ColwiseParallel(input_layouts=between, use_local_output=False),
    }
    norms = ["model.norm"]
    for layer in range(LLAMA["L"]):
        path = f"model.layers.{layer}."
        norms += [path + "input_layernorm", path + "post_attention_layernorm"]
        facts = {"hidden_states": between}, {"hidden_states": Replicate()}
        plan[path + "self_attn"] = PrepareModuleInput(
            input_kwarg_layouts=facts[0], desired_input_kwarg_layouts=facts[1]
        )
        plan[path + "mlp"] = PrepareModuleInput(input_layouts=(between,), desired_input_layouts=(Replicate(),))
        for name in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "mlp.gate_proj", "mlp.up_proj"):
            plan[path + name] = ColwiseParallel()
        for name in ("self_attn.o_proj", "mlp.down_proj"):
            plan[path + name] = RowwiseParallel(output_layouts=between)
    if sequence:
        plan |= {name: SequenceParallel(use_local_output=True) for name in norms}
    return parallelize_module(model, mesh, plan)


def local(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def held(model: torch.nn.Module) -> int:
    """Return the number of elements of a model on this rank."""
    parameters = list(model.parameters())
    assert any(isinstance(parameter, DTensor) for parameter in parameters)
    return sum(local(parameter).numel() for parameter in parameters)


# -- tensor parallelism -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tensor", ["on", "sequence"])
def test_parameters_of_a_rank_of_llama(mesh: DeviceMesh, tensor: str) -> None:
    ours = sf.architecture("llama").formula("params", tensor=tensor)
    assert ours.value(**LLAMA, N_tp=RANKS) == held(divided_llama(mesh, tensor == "sequence"))


@pytest.mark.parametrize("tied", [True, False])
def test_parameters_of_a_rank_of_bert(mesh: DeviceMesh, tied: bool) -> None:
    config = BertConfig(
        vocab_size=BERT["V"],
        type_vocab_size=BERT["V_type"],
        max_position_embeddings=BERT["P"],
        hidden_size=BERT["E"],
        intermediate_size=BERT["H"],
        num_hidden_layers=BERT["L"],
        num_attention_heads=BERT["A"],
        tie_word_embeddings=tied,
    )
    model = BertForMaskedLM(config)
    plan: dict[str, Any] = {
        "bert.embeddings.word_embeddings": RowwiseParallel(input_layouts=Replicate()),
        "cls.predictions.decoder": ColwiseParallel(),
    }
    for layer in range(BERT["L"]):
        path = f"bert.encoder.layer.{layer}."
        columns = ("attention.self.query", "attention.self.key", "attention.self.value", "intermediate.dense")
        plan |= {path + name: ColwiseParallel() for name in columns}
        plan |= {path + name: RowwiseParallel() for name in ("attention.output.dense", "output.dense")}
    parallelize_module(model, mesh, plan)
    head = (
        model.cls.predictions
    )  # if tied, the decoder's bias is stored a second time, under the head; if untied, only this one is
    head.bias = torch.nn.Parameter(distribute_tensor(head.bias, mesh, [Shard(0)]))
    model.tie_weights()
    ours = sf.architecture("bert", head="mlm", tied=tied).formula("params", tensor="on")
    assert ours.value(**BERT, N_tp=RANKS) == held(model)


def test_parameters_of_a_rank_of_mixtral(mesh: DeviceMesh) -> None:
    """The experts' tables are sharded by expert, and everything else is on every rank."""
    config = MixtralConfig(
        vocab_size=53, hidden_size=24, intermediate_size=7, num_local_experts=6, num_experts_per_tok=3,
        num_hidden_layers=5, num_attention_heads=4, num_key_value_heads=2, head_dim=10,
    )  # fmt: skip
    with torch.device("cpu"):
        model = MixtralForCausalLM(config)
    for layer in model.model.layers:
        experts = layer.mlp.experts
        for name, table in list(experts.named_parameters(recurse=False)):
            setattr(experts, name, torch.nn.Parameter(distribute_tensor(table.detach(), mesh, [Shard(0)])))
    sizes = {"V": 53, "E": 24, "M": 7, "X": 6, "K": 3, "L": 5, "A": 4, "G": 2, "D": 10}
    ours = sf.architecture("mixtral").formula("params", expert="on")
    assert ours.value(**sizes, N_ep=RANKS) == held(model)


def test_expert_parallel_communication_by_hand() -> None:
    """By hand: K copies of B·S tokens of width E are sent and returned, and so are their gradients: 4BSKE per layer.

    Each rank has its own tokens, so the gradients of all weights except experts are summed: all but 3EXM per layer.
    """
    mixtral = sf.architecture("mixtral")
    rest = f"({mixtral.params.code()} - 3*L*E*X*M)"
    moved = mixtral.formula("communication", expert="on", count="payload", dtype="symbolic")
    assert moved.equals(f"4*B*S*K*E*L*W + W*{rest}")
    ring = mixtral.formula("communication", expert="on", dtype="symbolic")
    assert ring.equals(f"(4*B*S*K*E*L + 2*{rest})*W*(N_ep - 1)/N_ep")
    forward = mixtral.formula("communication", expert="on", dtype="symbolic", step="forward", count="payload")
    assert forward.equals("2*B*S*K*E*L*W")
    # Attention 2·4096² + 2·4096·1024, router 4096·8 and norms 2·4096 in each of 32 layers, two tables of 32,000·4096, a
    # norm of 4096: 1,605,636,096 weights of 2 bytes, times 2·7/8. Experts: over N_dp = 1.
    summed = mixtral.formula("communication", expert="on", data="replicated")
    weights = [row for row in summed.rows if "experts" not in row.path]
    numbers = {**sf.architecture("mixtral-8x7b").known, **{symbol(k): v for k, v in (("N_ep", 8), ("N_dp", 1))}}
    assert sum(evaluate(row.total, numbers, row.path) for row in weights if "combine" not in row.path) == 5_619_726_336


class Collectives(TorchDispatchMode):
    """Record the tensors that torch passes to each functional collective."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = str(func)
        if name.startswith("_c10d_functional.") and "wait" not in name and "wrap" not in name:
            self.elements += max(args[0].numel(), out.numel())
        return out


@pytest.mark.parametrize("tensor", ["on", "sequence"])
@pytest.mark.parametrize("step", ["forward", "training"])
def test_communication_of_a_llama_rank_matches_torch(mesh: DeviceMesh, tensor: str, step: str) -> None:
    model, (batch, length) = divided_llama(mesh, tensor == "sequence"), (3, 14)
    with Collectives() as moved:
        logits = model(
            torch.zeros(batch, length, dtype=torch.long),
            use_cache=False,
            position_ids=torch.arange(length)[None],
            attention_mask=torch.zeros(batch, 1, length, length),
        ).logits
        if step == "training":
            local(logits).sum().backward()
            for parameter in model.parameters():
                gradient = parameter.grad
                if isinstance(gradient, DTensor) and any(isinstance(each, Partial) for each in gradient.placements):
                    gradient.redistribute(mesh, [Replicate()])
    formula = sf.architecture("llama").formula(
        "communication", tensor=tensor, step=step, count="payload", gather="once", dtype="fp32"
    )
    assert moved.elements > 0
    assert formula.value(**LLAMA, N_tp=RANKS, B=batch, S=length) == 4 * moved.elements


def test_gathered_inputs_of_sharded_products_are_communicated() -> None:
    """By hand, one sequence of S tokens in bf16: the sums of test_rank_gradients.py, in whole models."""
    palm = sf.architecture("palm-8b").formula("communication", tensor="on", count="payload")
    # The keys and values of 32 layers, 2048 tokens of width 256: 2·32·2048·256·2 = 67,108,864. The rest is 3 sums of
    # 2048·4096 per layer (two outputs, and the gradient of the input of both sublayers), and one at each end of the
    # model.
    assert palm.value(B=1, S=2048, N_tp=8) == 67_108_864 + (3 * 32 + 2) * 2048 * 4096 * 2
    mixtral = sf.architecture("mixtral-8x7b").formula("communication", tensor="on", count="payload")
    # The routing weights of 32 layers, 2 per token: 32·4096·2·2 = 524,288; and 4 sums of 4096·4096 per layer.
    assert mixtral.value(B=1, S=4096, N_tp=8) == 524_288 + (4 * 32 + 2) * 4096 * 4096 * 2


def test_sequence_parallel_communication_of_an_encoder_decoder() -> None:
    """By hand: the inputs of the first layers are given, and need no gradient."""
    facts = {"count": "payload", "dtype": "symbolic"}
    on = sf.architecture("transformer").formula("communication", tensor="on", **facts)
    # Encoder: an output and a gradient for each of two sublayers. Decoder: for three, and the memory's gradient.
    assert on.equals("W*(B*S_enc*E*(4*L_enc - 1) + B*S*E*(6*L_dec - 1) + B*S_enc*E*L_dec)")
    layer = sf.architecture("transformer-decoder-layer")
    forward = layer.formula("communication", tensor="sequence", step="forward", **facts)
    # Gathered: the inputs of three sublayers, and the memory; scattered: their outputs.
    assert forward.equals("W*(6*B*S*E + B*S_enc*E)")


# -- data parallelism -------------------------------------------------------------------------------------------------


def test_zero_3_matches_fsdp2(mesh: DeviceMesh) -> None:
    model = llama()
    for layer in model.model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    optimizer.step()
    states = [each for state in optimizer.state.values() for each in state.values()]
    assert len(states) == 3 * len(list(model.parameters()))
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    total = sum(local(each).numel() * 4 for each in (*model.parameters(), *gradients, *states))
    ours = sf.architecture("llama").formula("train-memory", recipe="fp32", implementation="none", data="zero3")
    assert ours.value(**LLAMA, N_dp=RANKS) == total


def test_weights_are_also_gathered_in_a_forward_pass() -> None:
    llama = sf.architecture("llama-2-7b")
    forward = llama.formula("communication", step="forward", data="zero3")
    assert forward.value(N_dp=8) == 6_738_415_616 * 2 * 7 // 8  # every weight, of 2 bytes, from 7 other ranks
    for data in ("off", "replicated", "zero1", "zero2"):
        assert llama.formula("communication", step="forward", data=data) == 0


def test_zero_1_shards_optimizer_state_over_context_and_expert_ranks() -> None:
    """1/(N_cp·N_dp) of Adam's 8 bytes per weight; 1/N_dp for a rank's experts, 1/(N_ep·N_dp) for the rest."""
    facts = {"recipe": "fp32", "implementation": "none"}
    mixtral = sf.architecture("mixtral")
    rest = f"({mixtral.params.code()} - 3*L*E*X*M)"
    for rank, means in (
        ("context", f"({rest} + 3*L*E*X*M)/(N_cp*N_dp)"),
        ("expert", f"{rest}/(N_ep*N_dp) + 3*L*E*X*M/(N_ep*N_dp)"),
    ):
        whole, shared = (mixtral.formula("train-memory", data=d, **facts, **{rank: "on"}) for d in ("off", "zero1"))
        weights = mixtral.formula("params", **{rank: "on"})
        assert shared.equals(whole.expr - 8 * weights.expr + 8 * parse(means))


# Rajbhandari et al. 2020, section 3.1 and figure 1: 16, 4 + 12/N, 2 + 14/N and 16/N bytes per parameter.
@pytest.mark.parametrize(
    ("data", "whole", "divided"), [("off", 16, 0), ("zero1", 4, 12), ("zero2", 2, 14), ("zero3", 0, 16)]
)
def test_zero_bytes_match_the_paper(data: str, whole: int, divided: int) -> None:
    llama = sf.architecture("llama")
    formula = llama.formula("train-memory", recipe="bf16", implementation="none", data=data)
    # Nine weights per layer, and three outside, have a step counter of 4 bytes each.
    steps = "4*(9*L + 3)"
    assert formula.equals(f"({whole} + {divided}/N_dp)*({llama.params.code()}) + {steps}")


# -- pipelines --------------------------------------------------------------------------------------------------------


def test_stages_store_the_parameters_of_their_layers() -> None:
    """GPT-2 by hand from the real class: two of three stages have the table, one has the final norm."""
    config = GPT2Config(vocab_size=53, n_positions=19, n_embd=24, n_inner=38, n_layer=6, n_head=4)
    with torch.device("meta"):
        model = GPT2LMHeadModel(config).transformer

    def count(*modules: torch.nn.Module) -> int:
        return sum(parameter.numel() for module in modules for parameter in module.parameters())

    numbers = {"V": 53, "P": 19, "E": 24, "L": 6, "A": 4, "N_pp": 3}
    stages = {
        "first": count(model.wte, model.wpe, *model.h[:2]),
        "middle": count(*model.h[2:4]),
        "last": count(*model.h[4:], model.ln_f, model.wte),
    }
    for stage, theirs in stages.items():
        formula = sf.architecture("gpt2").formula("params", pipeline=stage).partial(H="H")
        assert formula.value(**numbers, H=38, **({"I_pp": 1} if stage == "middle" else {})) == theirs


def test_activations_of_in_flight_micro_batches_match_the_paper() -> None:
    """Korthikanti et al. 2022, section 4.2.3: with 1F1B, the first stage stores p micro-batches, as L layers."""
    gpt2 = sf.architecture("gpt2")
    facts = {"implementation": "megatron", "dropout": "on", "tensor": "sequence", "vocab": "padded"}
    first = gpt2.formula("activations", pipeline="first", **facts)
    # L layers of sbh(34 + 5as/h)/t, and sbhp/t for the mask of the embedding's dropout.
    assert first.equals("(34*B*S*L*E + 5*B*S**2*L*A + B*S*E*N_pp)/N_tp")
    last = gpt2.formula("activations", pipeline="last", **facts)
    # L/p layers, and 4sbh/t: the inputs of the final norm and of the output layer.
    assert last.equals("(34*B*S*L*E + 5*B*S**2*L*A)/(N_tp*N_pp) + 4*B*S*E/N_tp")
    middle = gpt2.formula("activations", pipeline="middle", **facts)
    assert middle.equals("(34*B*S*L*E + 5*B*S**2*L*A)/N_tp*(N_pp - I_pp)/N_pp")


@pytest.mark.parametrize(
    ("tensor", "layer"),
    [
        ("off", "34*B*S*E + 5*B*S**2*A"),  # eq. 1
        ("on", "B*S*E*(10 + 24/N_tp + 5*A*S/(E*N_tp))"),  # eq. 2
        ("sequence", "B*S*E/N_tp*(34 + 5*A*S/E)"),  # eq. 4
    ],
)
def test_activations_of_a_layer_match_korthikanti_et_al(tensor: str, layer: str) -> None:
    formula = sf.architecture("gpt2").formula("activations", implementation="megatron", dropout="on", tensor=tensor)
    assert formula.part("h").equals(layer)


# -- all ranks together, and refusals ---------------------------------------------------------------------------------


def test_flops_of_all_ranks_sum_to_the_whole_model() -> None:
    """The FLOPs of all ranks sum to the FLOPs of the model, except for the vocabulary's padding."""
    for name, attention in (("llama", "full"), ("llama", "causal"), ("gpt2", "causal")):
        model = sf.architecture(name)
        whole = model.formula("flops", attention=attention)
        rank = model.formula("flops", attention=attention, tensor="sequence", context="on")
        assert whole.equals(rank.expr * N_tp * N_cp)


def test_sizes_that_do_not_divide_are_refused() -> None:
    with pytest.raises(SizeError, match=r"A=12 is not a multiple of N_tp=8 \(query heads, tensor-parallel ranks\)"):
        sf.architecture("gpt2").formula("params", tensor="on", vocab="padded").value("gpt2", N_tp=8)
    with pytest.raises(SizeError, match=r"V=50257 is not a multiple of N_tp=2 .*, or vocab=padded"):
        sf.architecture("gpt2").formula("params", tensor="on").value("gpt2", N_tp=2)
    llama = sf.architecture("llama")
    with pytest.raises(SizeError, match=r"S=30 is not a multiple of 2·N_cp=4"):
        llama.formula("flops", attention="causal", context="on").value(**LLAMA, B=1, S=30, N_cp=2)
    with pytest.raises(
        SizeError, match=r"N_pp - 2=2 is less than I_pp=3 \(pipeline stages before this one\); at least one stage"
    ):
        llama.formula("params", pipeline="middle").value(**LLAMA | {"L": 8}, N_pp=4, I_pp=3)


def test_vocabulary_padding_matches_megatron() -> None:
    # 50257 rows to a multiple of 128·4 = 512: 99 · 512 = 50,688 rows, 12,672 on each of 4 ranks.
    rank = sf.architecture("gpt2").formula("params", tensor="on", vocab="padded")
    assert rank.part("wte").value("gpt2", N_tp=4) == 12_672 * 768


def test_the_cache_is_sharded_along_the_sequence() -> None:
    llama = sf.architecture("llama-2-7b")
    shared = llama.formula("kv-cache", context="on")
    # Keys and values of 32 layers, 4096 tokens of width 4096, 2 bytes: 2,147,483,648, and an eighth of it.
    assert shared.value(B=1, C=4096, N_cp=8) == 2_147_483_648 // 8
    with pytest.raises(SizeError, match="C=4097 is not a multiple of N_cp=8"):
        shared.value(B=1, C=4097, N_cp=8)


@pytest.mark.parametrize(("option", "choice"), [("context", "on"), ("tensor", "sequence")])
def test_decoding_refuses_sequence_sharding(option: str, choice: str) -> None:
    asked: list[tuple[str, dict[str, str]]] = [
        ("decode-flops", {}),
        ("generation-flops", {}),
        ("traffic", {"phase": "decode"}),
        ("intensity", {"phase": "decode"}),
    ]
    if option == "context":
        asked += [("inference-memory", {}), ("kv-cache", {"tokens": "one"})]
    for quantity, facts in asked:
        with pytest.raises(
            RuleError, match=f"{option}={choice} shards a sequence over N_.. ranks, and one new token cannot"
        ):
            sf.architecture("llama").formula(quantity, **facts, **{option: choice})


def test_logits_of_the_last_position_refuse_context_parallelism() -> None:
    for quantity in ("flops", "prefill-flops", "traffic", "intensity"):
        with pytest.raises(RuleError, match="lm_head: with context=on only one of N_cp ranks has the last position"):
            sf.architecture("gpt2").formula(quantity, logits="last", context="on")


def test_one_pipeline_stage_or_one_rank_is_refused() -> None:
    for stage in ("first", "last"):
        with pytest.raises(SizeError, match=r"N_pp=1 \(pipeline stages\) is less than 2; for a single stage choose"):
            sf.architecture("gpt2").formula("params", pipeline=stage).value("gpt2", N_pp=1)
    for count in ("limit", "payload"):
        moved = sf.architecture("gpt2").formula("communication", tensor="on", vocab="padded", count=count)
        with pytest.raises(SizeError, match="is less than 2; a single rank moves nothing"):
            moved.value("gpt2", B=1, S=8, N_tp=1)


@dataclass(frozen=True, kw_only=True)
class Divided(Component):
    """x[B,S,E] -> y[B,S,E]: an operation on a sharded hidden layer."""

    title = "Divided"
    role = "other"
    shapes = "x[B,S,E] -> y[B,S,E]"

    done: str
    hidden: Expr = H

    def split(self, cut: Cut) -> Divided:
        return replace(self, hidden=cut.share(self.hidden))

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        hidden = ops.linear("up", x, self.hidden)
        if self.done == "experts":
            each = ops.experts("experts", hidden, ops.index("chosen", B, S, 2), X, x.width)
            (view,) = ops.split(each, (x.width,))
            return ops.combine("combine", ops.activation("act", view, "relu"), ops.index("shares", B, S, 2))
        if self.done == "linear":
            return ops.linear("down", ops.linear("across", hidden, self.hidden), x.width)
        y = ops.norm("norm", hidden, "rms", bias=False) if self.done == "norm" else ops.softmax("softmax", hidden)
        return ops.linear("down", y, x.width)


@pytest.mark.parametrize(
    ("done", "reason"),
    [
        ("norm", "norm: norm needs a whole axis, but a rank has only a shard of it, H/N_tp"),
        ("softmax", "softmax: softmax needs a whole axis, but a rank has only a shard of it, H/N_tp"),
        ("linear", "across: a linear layer with a sharded input and a sharded output is not supported"),
        ("experts", "act reads experts, a partial sum on this rank; this operation has no rule"),
    ],
)
@pytest.mark.parametrize("quantity", ["communication", "flops", "params"])
def test_operations_that_need_a_whole_sharded_axis_are_refused(done: str, reason: str, quantity: str) -> None:
    assert set(REDUCED) == set(OperationKind)  # a new operation must state the axis that it reduces over
    assert Divided(done=done).formula("params") != 0
    with pytest.raises(RuleError, match=reason):
        Divided(done=done).formula(quantity, tensor="on")


def test_unsupported_placements_are_refused() -> None:
    with pytest.raises(RuleError, match="K experts on one rank differs from token to token"):
        sf.architecture("mixtral").formula("active-params", expert="on")
    with pytest.raises(
        RuleError, match=r"Rotary positions takes heads as input \(q, k\), and the part that computes them"
    ):
        sf.component("rotary-positions").formula("flops", count="all", tensor="on")
    with pytest.raises(RuleError, match="Transformer has 2 stacks of repeated layers"):
        sf.architecture("transformer").formula("params", pipeline="first")
    with pytest.raises(RuleError, match="per-rank activations need implementation=megatron"):
        sf.architecture("gpt2").formula("activations", tensor="on")
    with pytest.raises(RuleError, match="a single key/value head is not supported with tensor=sequence"):
        sf.architecture("palm").formula("flops", tensor="sequence")
    with pytest.raises(RuleError, match="selects one position, which only one rank has if ranks shard the sequence"):
        sf.architecture("bert").formula("params", tensor="sequence")
    with pytest.raises(RuleError, match="expert=on requires experts; GPT-2 has none"):
        sf.architecture("gpt2").formula("params", expert="on")
    with pytest.raises(RuleError, match="experts are not supported with tensor=sequence; choose tensor=on"):
        sf.architecture("mixtral").formula("params", tensor="sequence")
    with pytest.raises(RuleError, match="a window is not supported with context=on"):
        sf.architecture("mistral").formula("flops", context="on")
    with pytest.raises(OptionError, match="tensor=maybe is not supported by params; choose from off, on, sequence"):
        sf.architecture("gpt2").formula("params", tensor="maybe")


@pytest.mark.parametrize(("data", "forward", "backward"), [("replicated", 0, 1), ("zero1", 0, 2), ("zero3", 1, 2)])
def test_all_kinds_of_parallelism_combined(data: str, forward: int, backward: int) -> None:
    """Mixtral by hand: elements of every collective with tokens, heads, experts and weights sharded together."""
    b, s, v, e, m, x, k, a, g, d, layers = 3, 28, 1280, 48, 24, 6, 5, 8, 4, 10, 18
    tp, cp, ep, dp = 2, 2, 3, 4
    tokens = b * s // cp
    # per layer: the sums after attention and experts; keys and values of all ranks; tokens of experts, sent and
    # returned
    sums, ring, sent = 2 * tokens * e, 2 * b * (g // tp) * s * d, 2 * tokens * k * e
    moved = layers * (sums + ring + sent) + tokens * e  # and the sum after the embedding
    # the sums of gradients before attention, experts and the head, and of routing weights; keys and values twice
    returned = layers * (sums + tokens * k + 2 * ring + sent) + tokens * e
    experts = layers * (x // ep) * 3 * e * (m // tp)
    others = layers * (2 * e * (a // tp) * d + 2 * e * (g // tp) * d + x * e + 2 * e) + e + 2 * (v // tp) * e
    weights = experts + others  # each over more than one rank
    sizes = {"B": b, "S": s, "V": v, "E": e, "M": m, "X": x, "K": k, "A": a, "G": g, "D": d, "L": layers, "W": 1}
    ranks = {"N_tp": tp, "N_cp": cp, "N_ep": ep, "N_dp": dp}
    way = {"tensor": "on", "context": "on", "expert": "on", "data": data, "count": "payload", "dtype": "symbolic"}
    for step, elements in (
        ("forward", moved + forward * weights),
        ("training", moved + returned + (forward + backward) * weights),
    ):
        formula = sf.architecture("mixtral").formula("communication", step=step, **way)
        given = {name: number for name, number in {**sizes, **ranks}.items() if name in map(str, formula.dependencies)}
        assert formula.value(given) == elements, step
