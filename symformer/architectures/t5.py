"""T5."""

from __future__ import annotations

from dataclasses import dataclass

from .base_architecture import Fields, WitnessSpec
from .bases.t5_like import AUTHOR, FUNCTIONS, T5Like, classes_of


@dataclass(frozen=True, kw_only=True)
class T5(T5Like):
    """T5, Raffel et al. 2020 [raffel2020], section 2.1: a pre-norm encoder-decoder with relative position biases.

    All layers of a tower share one table of distances. T5 v1.1 has ``gated=true`` and ``tied=false``, Shazeer 2020
    [shazeer2020].

    >>> T5().params
    4*L_enc*E*A*D + 8*L_dec*E*A*D + 2*L_enc*E*H + 2*L_dec*E*H + 2*L_enc*E + 3*L_dec*E + V*E + 2*P_rel*A + 2*E
    """

    title = "T5"
    config = Fields(classes=classes_of("T5"))
    witness = WitnessSpec("T5", functions=FUNCTIONS, prefix="", author=AUTHOR)
    variants = ({}, {"head": "none"}, {"gated": True, "tied": False}, {"gated": True})
