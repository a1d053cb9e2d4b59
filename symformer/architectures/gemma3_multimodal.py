"""Gemma 3 with its vision tower."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isqrt

from sympy import Symbol

from ..components import Component, LMHead, PoolingProjector, SelfAttention
from ..configs.common_fields import Config
from ..configs.config_fields import Derived
from ..language.errors import UnreadError
from ..language.sizes import Divides, Numbers
from ..language.symbols import A_vis, E_vis, Z, Z_patch, Z_pool
from .base_architecture import HEADS_DIVIDE, BoolField, Fields, WitnessSpec, option, unknown
from .bases.local_global import ROTARY_KINDS
from .bases.multimodal import TEXT
from .bases.siglip_vision import SiglipVision
from .gemma3 import Gemma3


class PooledTokens(Derived):
    """The config field of the number of tokens per image, which is the square of the number per side."""

    @property
    def rule(self) -> str:
        return "its square root"

    def taken(self, size: Symbol, config: Config, numbers: Numbers) -> int:
        """Return the number per side. Raises UnreadError unless it divides the number of patches per side."""
        name, tokens = self.names[0], int(self.read(size, config))
        side, patches = isqrt(tokens), numbers[Z] // numbers[Z_patch]
        if side**2 != tokens or patches % side:
            raise UnreadError(
                f"{name!r} is {tokens} in the config; only the square of a divisor of the {patches} patches per side "
                "is supported"
            )
        return side

    def written(self, number: int, numbers: Mapping[Symbol, int]) -> int:
        """Return the number of tokens."""
        return number**2


@dataclass(frozen=True, kw_only=True)
class Gemma3Multimodal(SiglipVision, Gemma3):
    """Gemma 3 with its vision tower, Gemma Team 2025 [gemma2025], section 2.1: SigLIP's image encoder, a projector that
    pools the patches, and the language model. An image takes ``Z_pool**2`` of the S tokens, and each of its tokens also
    attends to the later ones of that image.

    >>> Gemma3Multimodal(vision_head=False).params  # doctest: +NORMALIZE_WHITESPACE
    2*L*E*A*D + 2*L*E*G*D + E_vis*Z_patch**2*N_chan + 3*L*E*H + 4*L_vis*E_vis**2 + 2*L_vis*E_vis*H_vis
    + 4*L*E + 2*L*D + 9*L_vis*E_vis + L_vis*H_vis + V*E + E*E_vis + E + 4*E_vis + E_vis*Z**2/Z_patch**2
    """

    title = "Gemma 3 (multimodal)"
    language = Gemma3
    constraints = (*Gemma3.constraints, Divides(A_vis, E_vis), Divides(Z_patch * Z_pool, Z))
    config = Fields(
        {Z_pool: PooledTokens(("mm_tokens_per_image",), 256)},
        model_types=("gemma3",),
        inert=(
            f"{TEXT}.tie_word_embeddings",  # the field of the whole model decides
            *("boi_token_index", "eoi_token_index", "boi_token_id", "eoi_token_id"),
        ),
    )
    witness = WitnessSpec(
        "Gemma3",
        functions=("attention_dropout", "self_attn.dropout", *ROTARY_KINDS),
        conditions=HEADS_DIVIDE,
        activation_refusal=unknown("its pooled patches"),
    )
    variants = ({}, {"head": "none"}, {"tied": False}, {"vision_head": False})

    tied: bool = option(BoolField("tie_word_embeddings", True))

    @property
    def rotary_attention(self) -> SelfAttention:
        return replace(super().rotary_attention, blocks=True)

    @property
    def projector(self) -> Component:
        return PoolingProjector()

    @property
    def lm_head(self) -> LMHead | None:
        head = super().lm_head
        return replace(head, capped=False) if head else head  # unlike the class of the language model
