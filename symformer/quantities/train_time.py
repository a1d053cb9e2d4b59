"""Training time: a lower bound on the time of a training step on a device."""

from __future__ import annotations

from ..formulas.account import Measure
from ..language.symbols import B, S
from .time_quantity import CHECKED, FULL, RANKS, TimeQuantity, first
from .train_flops import QUANTITY as WORK
from .train_memory import QUANTITY as STATE

QUANTITY = TimeQuantity(
    Measure("train-time", "lower bound on the time of a training step", "T_train", "seconds"),
    "A training step takes at least this time on a device that moves N_bw bytes per second between memory and "
    "processor and computes N_peak FLOPs per second: the bytes over N_bw or the FLOPs over N_peak, whichever is "
    "larger; Williams et al. 2009 [williams2009]. It is a bound, not a prediction. The step is one forward and one "
    "backward pass over B sequences of S tokens, and the update of the weights. The weights, their gradients and "
    "the optimizer state are moved once; activations are excluded. Only the FLOPs of matrix "
    f"products count, at 2 per multiply-add. {FULL} {RANKS}",
    STATE.rules,
    STATE.columns,
    {
        "attention": first(WORK, "attention", "causal"),
        "recompute": WORK.conventions["recompute"],
        "recipe": first(STATE, "recipe", "bf16"),
        **{name: STATE.conventions[name] for name in ("optimizer", "data")},
    },
    CHECKED,
    by_format=STATE.by_format,
    notes=WORK.notes,
    encoder=WORK.encoder,
    frozen=WORK.frozen,
    moved=STATE,
    work=WORK,
    fixed={"embedding": "lookup", "train": "all", "implementation": "none"},
    tokens=(B, S),
)
