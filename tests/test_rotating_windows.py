"""Families with rotary positions only in the sliding-window layers, such as EXAONE 4, Cohere2 and SmolLM3."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from sympy import Poly

from symformer import witness
from symformer.architectures.base_architecture import HEADS_DIVIDE, Fields, WitnessSpec, usual
from symformer.architectures.bases.local_global import LocalGlobal, local_global
from symformer.architectures.bases.stacked import Stack
from symformer.components import Component, ResPostNormBlock
from symformer.language.symbols import A, C_win, D, E, G, H, L_global, L_local, V
from symformer.models.model import Model
from symformer.witness.torch_counts import ORACLES


@dataclass(frozen=True, kw_only=True)
class Exaone4(LocalGlobal):
    """EXAONE 4: rotary positions only in the sliding-window layers, and norms after attention and the MLP."""

    title = "EXAONE 4"
    config = Fields(
        usual({V: 102400, E: 4096, H: 16384, A: 32, G: 32, D: 128, C_win: 4096}),
        layers=local_global(3, 32),
    )
    witness = WitnessSpec("Exaone4", conditions=HEADS_DIVIDE)

    def layer_of(self, attention: Component, mlp: Component) -> Component:
        parts = {"self_attn": attention, "post_attention_layernorm": self.norm}
        return ResPostNormBlock(parts={**parts, "mlp": mlp, "post_feedforward_layernorm": self.norm})

    @property
    def stacks(self) -> tuple[Stack, ...]:
        attention = replace(self.rotary_attention, head_norm=self.norm)
        windowed, whole = replace(attention, window=C_win), replace(attention, positions=None)
        return (
            Stack("local_layers", L_local, self.layer_of(windowed, self.mlp)),
            Stack("global_layers", L_global, self.layer_of(whole, self.mlp)),
        )


WAYS = [(quantity, way) for quantity in ("activations", "train-memory") for way in ORACLES[quantity].ways]


@pytest.mark.parametrize(("quantity", "way"), WAYS, ids=str)
def test_the_expanded_formula_is_a_polynomial_in_both_depths(quantity: str, way: dict[str, str]) -> None:
    formula = Exaone4().formula(quantity, **{**ORACLES[quantity].conventions, **way})
    # The cache is a sum over the two kinds of layers, so it is affine in the two depths.
    assert Poly(formula.expanded, L_local, L_global).total_degree() == 1


def test_the_family_is_verified_against_torch() -> None:
    model = Model(target="exaone4", component=Exaone4())
    way = {"recompute": "selective"}
    assert ("activations", way) in witness.provable(model)
    (found,) = witness.verify_all([(model, "activations", way)], seed=3)
    assert found.exact, found.mismatches
