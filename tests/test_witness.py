"""Verification: every architecture, in every variant, row by row against torch; and detection of planted errors."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from symformer import witness
from symformer.architectures import architecture, names, presets, variants
from symformer.architectures.base_architecture import Architecture
from symformer.architectures.gpt2 import GPT2
from symformer.architectures.llama import Llama
from symformer.certificates import certificate_for, certificates_of
from symformer.components.mlp import MLP
from symformer.components.self_attention import SelfAttention
from symformer.formulas.account import Line, Term
from symformer.formulas.formula import Formula
from symformer.language.errors import SymformerError, WitnessError
from symformer.language.sizes import AtMost, Divides, evaluate
from symformer.language.symbols import A, B, B_vis, D, E, G, H, J_merge, L, L_deep, L_vis, V
from symformer.ledger.facts import Tensor
from symformer.ledger.operations import Operations
from symformer.models.model import Model
from symformer.quantities import quantities
from symformer.witness import provable, verify
from symformer.witness.certification import checks, counted_by, verify_many
from symformer.witness.row_comparison import compare_rows
from symformer.witness.sampling_plan import apart_in_turn, plan
from symformer.witness.stored_weights import StoredWeight, build, stored_rows

from .conftest import Rewrite
from .samples import sampled

VARIANTS = [variant for name in names() for variant in variants(architecture(name))]


def spell(model: Model) -> str:
    return " ".join([model.id, *(f"{name}={value}" for name, value in model.component.changed_options.items())])


# Of this many variants, one is compared with torch again, in addition to the default of each architecture. A plain run
# has every fifth one of the former, and every eighth one of the latter.
AGAIN, FIFTH = 12, 60
EIGHTH = names()[::8]


@pytest.mark.parametrize(
    ("place", "model"),
    sampled(FIFTH, enumerate(VARIANTS), also=lambda case: not case[1].component.chosen and case[1].id in EIGHTH),
    ids=map(spell, VARIANTS),
)
def test_stored_certificates_are_current_and_hold_at_their_first_point(place: int, model: Model) -> None:
    """Stored certificates equal those that would be written today, and the first point of some is checked again.

    The seed gives the same points; ``symformer verify --all`` checks all of them, and this test does for WHOLE.
    """
    made, wrong, held = [], {}, 0
    again = place % AGAIN == 0 or not model.component.changed_options
    for check in checks(model):
        kept = [certificate_for(model, claim.formula) for claim in check.claims]
        assert None not in kept, "run: symformer verify --all --write"
        held += len(kept)
        (seed,) = {each.seed for each in kept if each}
        for claim, each in zip(check.claims, kept, strict=True):
            assert each == check.certificate(claim, seed, each.presets if each else {})
        if not again:
            continue
        made += check.claims
        session = check.session(seed, place=0, point=0)
        # before it is run: all weights that the class trains
        if "params" in (claim.quantity for claim in check.claims):
            trained = sum(each.numel() for each in session.model().parameters() if each.requires_grad)
            formula = check.model.formula("trainable-params")
            assert evaluate(formula.expanded, session.numbers, formula.id) == trained > 0
        wrong |= check.compare_at(check.claims, session)
    assert len(wrong) == len(made) == (held if again else 0)
    assert not any(wrong.values())
    assert held == sum(kept.options == model.component.changed_options for kept in certificates_of(model.id)), (
        "one is left over"
    )


WHOLE = ("feed-forward-lm", "palm")  # all of its points take no longer than one point of another


@pytest.mark.parametrize("name", WHOLE)
def test_the_seed_reproduces_the_stored_certificates(name: str) -> None:
    """Regenerate the whole certificate, from every point and its presets at full size, and compare it."""
    for model in variants(architecture(name)):
        asked = provable(model)
        kept = [certificate_for(model, model.formula(each, **counted_by(each, way))) for each, way in asked]
        (seed,) = {each.seed for each in kept if each}
        assert [verdict.certificate for verdict in verify_many(model, asked, seed)] == kept


def test_every_bound_is_small_or_relies_on_a_small_one() -> None:
    """A formula whose rows are all in the first variant is compared at fewer points, as its certificate states."""
    resting = 0
    for name in names():
        for kept in certificates_of(name):
            if not kept.depends_on:
                assert kept.bound <= 1e-12
                assert kept.points >= 3
                continue
            first = [each for each in certificates_of(name) if each.digest == kept.depends_on and not each.options]
            assert kept.options
            given = {
                **{"moe": "batched"},
                **kept.conventions,
            }  # a variant without experts does not have this convention
            assert any(
                (each.id, each.conventions, each.depends_on)
                in ((kept.id, ways, "") for ways in (given, kept.conventions))
                for each in first
            )
            assert kept.points >= 2
            assert kept.bound < 0.001
            resting += 1
    assert resting > 10


def test_certificates_state_the_compared_rows() -> None:
    for quantity, said in (
        ("params", "16 stored weights by name and shape, and the total"),
        ("flops", "each matrix product of each module, and the total"),
        ("train-flops", "each matrix product of each module, forward and backward, and the total"),
        ("kv-cache", "each tensor of the cache, by its attention module, and the total"),
        ("activations", "the bytes of each storage, whichever module saves it, and the total"),
        ("inference-memory", "the bytes of the parameters"),
    ):
        found = {
            kept.compared for kept in certificates_of("gpt2") if kept.id == f"gpt2.{quantity}" and not kept.options
        }
        assert len(found) == 1
        assert found.pop().startswith(said)


def test_no_certificate_is_unused() -> None:
    """Every certificate belongs to a variant, as tested above, and none to anything else."""
    kept = [(name, each) for name in names() for each in certificates_of(name)]
    assert all(
        any(each.options == model.component.changed_options for model in variants(architecture(name)))
        for name, each in kept
    )
    counted = {each.id.removeprefix(f"{name}.") for name, each in kept}
    # a ratio depends on its two sides; quantities that torch does not count state their check
    assert counted | {"intensity"} == {name for name, question in quantities().items() if not question.checked_by}


def test_every_preset_is_verified_at_full_size() -> None:
    proved = {name: total for arch in names() for kept in certificates_of(arch) for name, total in kept.presets.items()}
    assert proved == {name: architecture(name).params.value() for name in presets()}


def test_the_certificate_of_the_same_conventions_is_found_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quantity can have several certificates; if none has the formula's conventions, the first one is named."""
    gpt2 = architecture("gpt2")
    ways: list[dict[str, str]] = [{"optimizer": "sgd"}, {}, {"optimizer": "momentum"}]
    kept = [verify(gpt2, 7, "train-memory", way).certificate for way in ways]
    monkeypatch.setattr("symformer.certificates.certificates_of", lambda name: tuple(kept))
    for way, certificate in zip(ways, kept, strict=True):
        assert certificate_for(gpt2, gpt2.formula("train-memory", implementation="none", **way)) is certificate
    assert certificate_for(gpt2, gpt2.formula("train-memory", optimizer="adafactor")) is kept[0]


def test_conventions_that_torch_cannot_count_are_refused() -> None:
    with pytest.raises(SymformerError, match="of gpt2, but not 'train-memory' with optimizer=adam-8bit"):
        verify("gpt2", quantity="train-memory", way={"optimizer": "adam-8bit"})


def test_a_certificate_is_bound_to_its_formula(rewrite: Rewrite) -> None:
    model = architecture("gpt2")
    assert certificate_for(model, model.params) is not None
    rewrite(SelfAttention, _without_output_bias(SelfAttention.forward))
    changed = architecture("gpt2")
    assert certificate_for(changed, changed.params) is None


# -- faults: each makes one row wrong, and that row is named --------------------------------------------------------


def _without_output_bias(forward: Any) -> Any:
    def broken(self: SelfAttention, ops: Operations, x: Tensor) -> Tensor:
        return forward(replace(self, output_bias=False), ops, x)

    return broken


def _groups_in_the_output(self: SelfAttention, ops: Operations, x: Tensor, *angles: Tensor) -> Tensor:
    """Write G instead of A in the output projection; every other entry is correct."""
    q = ops.linear("q_proj", x, A * D, bias=False)
    k = ops.linear("k_proj", x, G * D, bias=False)
    ops.linear("v_proj", x, G * D, bias=False)
    assert q.width == A * D
    return ops.linear("o_proj", k, x.width, bias=False)


def _hidden_for_width(forward: Any) -> Any:
    def broken(self: MLP, ops: Operations, x: Tensor) -> Tensor:
        hidden = ops.linear(self.up, ops.index("x", *x.shape[:-1], H), self.hidden, bias=self.bias)
        return ops.linear(self.down, hidden, x.width, bias=self.bias)

    return broken


def test_a_dropped_bias_names_its_row(rewrite: Rewrite) -> None:
    rewrite(SelfAttention, _without_output_bias(SelfAttention.forward))
    verdict = verify(architecture("gpt2"))
    assert not verdict.exact
    assert {row.path for row in verdict.mismatches} == {"h.0.attn.c_proj.bias", "h.1.attn.c_proj.bias"}


def test_groups_for_heads_names_its_row(rewrite: Rewrite) -> None:
    rewrite(SelfAttention, _groups_in_the_output)
    verdict = verify(architecture("llama-2-70b"))
    assert {row.path for row in verdict.mismatches} == {"layers.*.self_attn.o_proj.weight"}
    assert "GD" in verdict.mismatches[0].ours


def test_hidden_for_width_names_its_row(rewrite: Rewrite) -> None:
    rewrite(MLP, _hidden_for_width(MLP.forward))
    verdict = verify(architecture("gpt2"))
    assert {row.path for row in verdict.mismatches} == {"h.*.mlp.c_fc.weight"}
    assert "H × H" in verdict.mismatches[0].ours


@pytest.mark.parametrize("quantity", ["flops", "train-flops", "decode-flops", "kv-cache"])
def test_a_wrong_cost_names_its_rows(quantity: str, rewrite: Rewrite) -> None:
    """Give every head its own keys, in a model that groups them."""
    rewrite(SelfAttention, _without_groups(SelfAttention.forward))
    verdict = verify("llama", quantity=quantity)
    assert not verdict.exact
    wrong = {row.path.partition(" (")[0] for row in verdict.mismatches}
    cached = {f"layers.*.self_attn.{name}" for name in ("scores", "mix")}
    assert wrong == (cached if quantity == "kv-cache" else {f"layers.*.self_attn.{name}_proj" for name in "kv"})


def _without_groups(forward: Any) -> Any:
    def broken(self: SelfAttention, ops: Operations, x: Tensor, *angles: Tensor) -> Tensor:
        return forward(replace(self, kv_heads=self.heads), ops, x, *angles)

    return broken


MOVED = {  # half of one row's total, added to another row: the total is unchanged
    "flops": ("h.*.attn.c_attn", "h.*.attn.c_proj"),
    "prefill-flops": ("h.*.mlp.c_fc", "lm_head"),
    "decode-flops": ("h.*.attn.scores", "h.*.mlp.c_proj"),
    "train-flops": ("h.*.attn.mix", "h.*.attn.scores"),
    "generation-flops": ("lm_head", "h.*.attn.c_attn"),
    "kv-cache": ("h.*.attn.scores", "h.*.attn.mix"),
    "activations": ("h.*.ln_1", "ln_f"),
}


@pytest.mark.parametrize("quantity", MOVED)
def test_a_cost_in_the_wrong_row_is_detected(quantity: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The total is unchanged, but the rows that differ are named."""
    source, target = MOVED[quantity]
    plain = Model.formula

    def wrong(self: Model, name: str, **conventions: str) -> Formula:
        formula = plain(self, name, **conventions)
        return replace(formula, root=_move(formula, source, target)) if name == quantity else formula

    right = architecture("gpt2").formula(quantity)
    monkeypatch.setattr(Model, "formula", wrong)
    assert architecture("gpt2").formula(quantity).equals(right)
    verdict = verify("gpt2", quantity=quantity)
    assert not verdict.exact
    assert any(row.path.startswith(source) for row in verdict.mismatches)


def _move(formula: Formula, source: str, target: str) -> Line:
    """Return the account with half of the last term of one row moved to another row."""
    copies = {line.path: count for count, line in formula.root.leaves() if line.path in (source, target)}
    found = [line.terms[-1] for _, line in formula.root.leaves() if line.path == source and line.terms]
    if not found:  # under these conventions it is zero
        return formula.root
    (given,) = found
    place = max(place for place, factor in enumerate(given.factors) if factor.is_Integer and factor % 2 == 0)
    half = Term(f"{given.label}", (*given.factors[:place], given.factors[place] / 2, *given.factors[place + 1 :]))
    there = copies[source] / copies[target]
    taken = Term(f"{target}", half.factors if there == 1 else (*half.factors, there))

    def walk(line: Line) -> Line:
        terms = line.terms
        if line.path == source and line.entry:
            terms = (*terms[:-1], half)
        if line.path == target and line.entry:
            terms = (*terms, taken)
        return replace(line, terms=terms, lines=tuple(map(walk, line.lines)))

    return walk(formula.root)


@pytest.mark.parametrize("name", ["gpt2", "gpt-neox", "deepseek-v2", "modernbert"])
def test_views_of_a_projection_for_one_sequence_are_compared_as_one_tensor(name: str) -> None:
    """For one sequence, torch saves one storage for the queries, keys and values of GPT-2, which are views of it."""
    (run,) = [run for run in checks(architecture(name)) if any(each.quantity == "activations" for each in run.claims)]
    eager = [each for each in run.claims if each.quantity == "activations" and not each.way]
    session = run.session(5, 0, 0)
    session.numbers = {**session.numbers, B: 1}
    assert run.compare_at(eager, session) == {each.key: [] for each in eager}
    assert session.activations().total > 0


def test_one_layer_too_many_names_every_row_of_the_layer() -> None:
    model = architecture("gpt2")
    component = model.component
    assert isinstance(component, Architecture)
    numbers = {**model.known, L: 3}
    rows = stored_rows(component, build(component, numbers))
    assert compare_rows(model, model.params, numbers, rows) == []
    wrong = {row.path for row in compare_rows(model, model.params, {**numbers, L: 4}, rows)}
    assert wrong == {weight.path for count, weight in model.ledger.weights if count == L}


def test_a_comparison_without_rows_is_an_error() -> None:
    model = architecture("gpt2")
    with pytest.raises(SymformerError, match="nothing was checked"):
        compare_rows(model, model.params, model.known, [])
    extra = [StoredWeight("h.0.surprise", (3,))]
    paths = {row.path for row in compare_rows(model, model.params, model.known, extra)}
    assert "h.0.surprise" in paths
    assert "wte.weight" in paths


def test_sizes_that_the_config_class_rejects_are_an_error_that_names_the_remedy() -> None:
    """The class of Llama requires that A divides E, although the width of its heads is independent of both."""
    sizes = {V: 29, E: 25, H: 7, L: 2, A: 6, G: 3, D: 10}
    with pytest.raises(WitnessError, match=r"LlamaConfig rejects a config of Llama: .*\(25\).*HEADS_DIVIDE"):
        build(Llama(), sizes)


def test_components_and_uncounted_quantities_cannot_be_verified() -> None:
    with pytest.raises(SymformerError, match="no built-in torch model"):
        verify(Model(target="component:mlp", component=MLP()))
    with pytest.raises(
        SymformerError,
        match="torch can verify params, flops, train-flops, activations, train-memory of bert, but not 'kv-cache'",
    ):
        verify("bert", quantity="kv-cache")


def test_a_seed_repeats_and_sizes_all_differ() -> None:
    one, other = (verify("gpt2", seed=5).certificate for _ in range(2))
    assert one == other
    assert one is not None
    assert one.seed == 5
    assert verify("gpt2").certificate != one


def test_bound_on_equal_sizes_holds_for_every_sample() -> None:
    """A size, a multiple of it and another one, from 1 to 6, and the constant 2: all 216 samples."""
    drawn = [{g, g * times, d, 2} for g, times, d in product(range(1, 7), repeat=3)]
    equal = Fraction(sum(len(sizes) < 4 for sizes in drawn), len(drawn))
    assert 0.5 < equal <= apart_in_turn(3, 1, 6) == 1 - Fraction(5 * 4 * 3, 6**3)


def test_places_determine_a_formula_of_images() -> None:
    """Qwen3-VL: parameters are of degree 4 in J_merge, FLOPs are affine in B_vis and quadratic in J_merge.

    The cache has neither. So they need five, two times three, and one place, at each of four choices of depths: a first
    one, and one change of each of L, L_vis and L_deep.
    """
    model, needed = architecture("qwen3-vl"), {"params": 5, "flops": 2 * 3, "kv-cache": 1}
    conditions = [each for each in model.constraints if isinstance(each, Divides | AtMost)]
    for quantity, places in needed.items():
        formula = model.formula(quantity)
        planned = plan(model, [formula], tuple(conditions))
        visited = [place.depth for place in planned.places if planned.visits(formula, place)]
        assert len(visited) == 4 * places
        for size in (L, L_vis, L_deep):
            assert len({depth[size] for depth in visited}) == 2
        assert len({depth[J_merge] for depth in visited}) * len({depth[B_vis] for depth in visited}) == places


def test_certificates_name_the_witness_classes() -> None:
    expected = {
        "gpt2": "transformers.GPT2LMHeadModel",
        "bert": "transformers.BertModel",
        "llama": "transformers.LlamaForCausalLM",
    }
    for name, path in expected.items():
        assert certificates_of(name)[0].witness == path
        assert certificates_of(name)[0].versions == {"transformers": "5.23.0", "torch": "2.13.0"}
    assert "symformer's own" in certificates_of("palm")[0].author
    assert {GPT2, Llama} < {type(architecture(name).component) for name in names()}


@pytest.mark.parametrize(
    ("raised", "sentence"),
    [
        (
            ModuleNotFoundError("No module named 'torch'", name="torch"),
            "this needs torch, which is not installed: pip",
        ),
        (
            ImportError("libtorch.so: undefined symbol"),
            r"cannot import torch or transformers \(libtorch.so: undefined symbol\); reinstall",
        ),
        (
            OSError("libc10.so: cannot open"),
            r"cannot import torch or transformers \(libc10.so: cannot open\); reinstall them: pip",
        ),
    ],
)
def test_a_missing_or_broken_torch_is_one_sentence(
    raised: Exception, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def imported(name: str, package: str) -> None:
        raise raised

    monkeypatch.setattr(witness, "import_module", imported)
    with pytest.raises(WitnessError, match=sentence):
        witness.torch_side()
