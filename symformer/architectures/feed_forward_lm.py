"""Feed-forward language model."""

from __future__ import annotations

from dataclasses import dataclass

from ..components import MLP, LMHead, TokenEmbedding
from ..language.symbols import E, H, V
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base_architecture import PLAIN, Architecture, Fields, WitnessSpec, usual


@dataclass(frozen=True, kw_only=True)
class FeedForwardLM(Architecture):
    """A language model without attention, for teaching: an embedding, a feed-forward network and a tied head. It is the
    neural probabilistic language model of Bengio et al. 2003 [bengio2003], section 2, with a context of one token.

    >>> FeedForwardLM().params
    V*E + 2*E*H + E + H
    """

    title = "Feed-forward language model"
    shapes = "tokens[B,S] -> logits[B,S,V]"

    config = Fields(usual({V: None, E: None, H: None}, PLAIN), classes={"FeedForwardLM": {}})
    witness = WitnessSpec.ours("teaching")

    def forward(self, ops: Operations, tokens: Tensor) -> Tensor:
        x = ops.call("embedding", TokenEmbedding(), tokens)
        x = ops.call("mlp", MLP(activation="relu"), x)
        return ops.call("head", LMHead(tied=True), x, ops.weight("embedding.weight"))
