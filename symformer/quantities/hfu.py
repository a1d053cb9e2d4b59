"""Hardware FLOPs utilization: training FLOPs per second, with recomputation, over the peak of the devices."""

from __future__ import annotations

from ..formulas.account import Measure
from .train_flops import QUANTITY as STEP
from .utilization import Utilization

QUANTITY = Utilization(
    Measure("hfu", "hardware FLOPs utilization", "Y_HFU", "of the peak"),
    "The fraction of peak FLOPs that training executes: the FLOPs of N_tps tokens per second, in sequences of S, "
    "divided by the peak of N_dev devices with N_peak FLOPs per second each; Korthikanti et al. 2022 "
    "[korthikanti2022], section 6. Counts one forward and one backward pass over each token, and any recomputation: "
    "contractions only, at 2 FLOPs per multiply-add.",
    STEP.rules,
    STEP.columns,
    STEP.conventions,
    "A fraction of a peak has no certificate of its own. The numerator is the training FLOPs of one batch, which have "
    "a certificate, times the number of batches per second. The tests compare the fraction with published values.",
    derived_from="train-flops",
    logits=STEP.logits,
    encoder="The tokens are the decoder's; the encoder reads one sequence per S tokens.",
    frozen=STEP.frozen,
    numerator=Measure("used", "FLOPs per second that the devices execute", "F_hardware", "FLOPs"),
)
