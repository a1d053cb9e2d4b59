"""ELECTRA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sympy import Expr, Integer

from ..components import HeadTransform, Linear, LMHead
from ..language.sizes import Condition, Differs
from ..language.symbols import A, E, E_emb, H, L, P, V, V_type
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base_architecture import Fields, WitnessSpec, usual
from .bases.bert_like import FIXED, BertLike


@dataclass(frozen=True, kw_only=True)
class ELECTRA(BertLike):
    """ELECTRA, Clark et al. 2020 [clark2020], section 3.2: BERT's encoder with embeddings of their own width E_emb.

    The discriminator predicts for each token whether it was replaced. The generator, which replaces tokens, has a
    masked-language-model head. If E_emb = E, there is no projection of the embeddings.

    >>> ELECTRA().params
    4*L*E**2 + 2*L*E*H + 9*L*E + L*H + V*E_emb + V_type*E_emb + P*E_emb + E_emb*E + 2*E_emb + E
    """

    title = "ELECTRA"
    config = Fields(
        usual({V: 30522, P: 512, V_type: 2, E_emb: 128, E: 256, H: 1024, L: 12, A: 4}),
        apart={"projected": (E_emb, E)},
        fixed=FIXED,
        inert=("summary_type", "summary_use_proj", "summary_activation", "summary_last_dropout"),  # of no built-in head
    )
    heads = {
        "Model": {"head": "none"},
        "ForPreTraining": {"head": "discriminator"},
        "ForMaskedLM": {"head": "generator"},
    }
    witness = WitnessSpec("Electra", prefix="electra.")
    variants = (
        {},
        {"head": "discriminator"},
        {"head": "generator"},
        {"head": "generator", "tied": False},
        {"projected": False},
    )

    head: Literal["none", "discriminator", "generator"] = "none"
    projected: bool = True

    @property
    def constraints(self) -> tuple[Condition, ...]:  # type: ignore[override]  # the projection needs two widths
        because = "there is no projection between equal widths; choose projected=false"
        return (*BertLike.constraints, *((Differs(E_emb, E, because),) if self.projected else ()))

    @property
    def width(self) -> Expr:
        return E_emb if self.projected else E

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        x = super().embed(ops, tokens)
        return ops.call("embeddings_project", Linear(out=E), x) if self.projected else x

    def finish(self, ops: Operations, x: Tensor) -> Tensor:
        if self.head == "none":
            return x
        if self.head == "discriminator":
            path = "discriminator_predictions"
            x = ops.activation(f"{path}.activation", ops.linear(f"{path}.dense", x, E), self.activation)
            return ops.linear(f"{path}.dense_prediction", x, Integer(1))
        x = ops.call("generator_predictions", HeadTransform(width=self.width, act="activation"), x)
        head = LMHead(tied=self.tied, bias=True)
        return ops.call("generator_lm_head", head, x, ops.weight(f"{self.names.table}.weight"))
