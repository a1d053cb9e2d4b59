"""Conventions compared: the formula of each value, refusals, and their users, tested against published counts."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from symformer import SymformerError, architecture
from symformer.algebra.formula_claims import formula_claims
from symformer.commands.cli import cli
from symformer.papers import papers
from symformer.quantities import quantities
from symformer.quantities.quantity import PLACEMENT
from symformer.targets.resolution import resolve
from symformer.views.convention_table import alternatives, users


def test_every_user_names_existing_conventions() -> None:
    for user in users():
        assert user.uses
        assert user.where
        assert user.paper == "" or user.paper in papers()
        for quantity in user.quantities:
            known = quantities()[quantity].conventions
            assert [name for name, value in user.uses.items() if name in known and value in known[name].meanings]
    for name in {name for user in users() for name in user.uses}:
        assert any(name in question.conventions for question in quantities().values())


def test_users_match_their_published_formulas() -> None:
    """A published formula that equals ours does so under certain conventions, and its paper is stored with these."""
    settled = set()
    for entry in formula_claims():
        runs = ("one token", "one sequence", "its parameter count")  # the counted object, and the meaning of N
        if not entry.target or entry.verdict == "differs" or entry.part:
            continue
        if any(not each.startswith(runs) for each in entry.conventions):
            continue
        using = [user for user in users() if user.paper == entry.paper and entry.quantity in user.quantities]
        if using:
            chosen = quantities()[entry.quantity].choose(dict(entry.options))
            assert any(all(chosen.get(k) == v for k, v in user.uses.items()) for user in using), entry.id
            settled.add(entry.id)
    assert {"megatron_F", "kor_modelflops", "palm_flops"} <= settled


@pytest.mark.parametrize("quantity", [name for name, question in quantities().items() if question.conventions])
def test_formula_of_each_convention_value(quantity: str) -> None:
    model = architecture("gpt2")
    found = alternatives(model, quantity, {})
    choices = {name: rule for name, rule in quantities()[quantity].choices.items() if name not in PLACEMENT}
    if quantity == "flops":  # timm's rules, which do not cover GPT-2
        choices.pop("counted")
    wanted = [(name, value) for name, rule in choices.items() for value in rule.meanings]
    assert [(variant.convention, variant.choice) for variant in found] == wanted
    for variant in found:
        assert (variant.formula is None) == bool(variant.refusal)
        if variant.formula is not None:
            usual = quantities()[quantity].choices[variant.convention].default
            absent = choices[variant.convention].omitted and variant.convention not in variant.formula.conventions
            assert absent or variant.formula.conventions.get(variant.convention, usual) == variant.choice
    assert any(variant.chosen and variant.formula for variant in found)


def test_conventions_command() -> None:
    """NanoGPT's notebook: 291,648,307,200 FLOPs for gpt2 at S = 1024, contractions only."""
    run = ["show", "gpt2", "-q", "flops", "--conventions", "--set", "B=1", "--set", "S=1024"]
    facts = json.loads(CliRunner().invoke(cli, [*run, "--json"]).stdout)["variants"]
    by = {(fact["convention"], fact["choice"]): fact for fact in facts}
    assert by["count", "contractions"]["value"] == 291_648_307_200
    assert "nanoGPT" in {user["who"] for user in by["count", "contractions"]["used_by"]}
    assert [user["who"] for user in by["embedding", "matmul"]["used_by"]] == ["Hoffmann et al. 2022"]
    assert "attention=full *" in CliRunner().invoke(cli, run).stdout
    refused = CliRunner().invoke(cli, ["show", "llama", "-q", "activations", "--conventions"]).stdout
    assert "refused: " in refused
    assert "megatron needs half precision" in refused


def test_quantity_without_conventions() -> None:
    with pytest.raises(SymformerError, match="trainable-params has no conventions"):
        alternatives(architecture("gpt2"), "trainable-params", {})


@pytest.mark.parametrize("target", ["bert", "vit", "mamba", "gpt2", "component:linear"])
def test_convention_without_effect_is_not_printed(target: str) -> None:
    """Omitted conventions do not matter: every other value gives the same formula, is printed, or is refused."""
    model, left = resolve(target)[0], 0
    for name, question in quantities().items():
        try:
            formula = model.formula(name)
        except SymformerError:
            continue
        printed = question.shown_conventions(formula)
        for convention in formula.conventions.keys() - printed.keys():
            for choice in question.choices[convention].meanings:
                try:
                    other = model.formula(name, **{convention: choice})
                except SymformerError:
                    continue
                same = other.expanded == formula.expanded
                assert same or convention in question.shown_conventions(other), f"{name}: {convention}={choice}"
                left += 1
    assert left >= 4
    shown = CliRunner().invoke(cli, ["show", target, "-q", "flops"], prog_name="symformer").stdout
    assert ("\nattention=" in shown) == (target == "gpt2")
    assert "count=contractions" in shown


@pytest.mark.parametrize(
    ("target", "quantity", "option", "has_effect"),
    [
        ("llama-3-8b", "kv-cache", "state=model", False),  # no recurrent state
        ("jamba-v0.1", "kv-cache", "state=model", True),
        ("mamba-130m", "inference-memory", "prefix=shared", False),  # no keys and values
        ("mamba-130m", "kv-cache", "block=16", False),
        ("llama-3-8b", "kv-cache", "block=16", True),
        ("llama-3-8b", "kv-cache", "latent=expanded", False),
        ("gpt-oss-20b", "kv-cache", "window=reserved", True),
        ("component:mlp", "flops", "attention=causal", False),
        ("mamba-130m", "kv-cache", "tokens=one", True),  # a state does not belong to a token, so the answer is 0
    ],
)
def test_answers_state_given_conventions_without_effect(
    target: str, quantity: str, option: str, has_effect: bool
) -> None:
    arguments = ["show", target, "-q", quantity, "--option", option]
    notes = json.loads(CliRunner().invoke(cli, [*arguments, "--json"]).stdout)["notes"]
    assert any(note.startswith(f"{option} has no effect: ") for note in notes) is not has_effect
