"""Hardware FLOPs utilization: what training computes a second, what is computed again too, over what devices can do."""

from __future__ import annotations

from ..formulas.account import Measure
from .train_flops import QUANTITY as STEP
from .utilization import Utilization

QUANTITY = Utilization(
    Measure("hfu", "hardware FLOPs utilization", "Y_HFU", "of the peak"),
    "The FLOPs that training computes for N_tps tokens a second, in sequences of S, over the N_peak FLOPs a second of "
    "each of N_dev devices; Korthikanti et al. 2022 [korthikanti2022], section 6. One forward and one backward pass "
    "over each token, and what is computed again; contractions only and 2 FLOPs a multiply-add.",
    STEP.rules,
    STEP.columns,
    STEP.conventions,
    "A share of a peak has no certificate of its own. What stands above is as many times the training FLOPs of a "
    "batch, which are certified, as there are batches a second; the shares that papers print are compared with it in "
    "the tests.",
    follows="train-flops",
    logits=STEP.logits,
    encoder="The tokens are the decoder's; the encoder reads one sequence for each S of them.",
    frozen=STEP.frozen,
    counts=Measure("used", "FLOPs a second that the devices compute", "F_hardware", "FLOPs"),
)
