"""Model FLOPs utilization: what training needs a second, without what is computed again, over what devices can do."""

from __future__ import annotations

from ..formulas.account import Measure
from .train_flops import QUANTITY as STEP
from .utilization import Utilization

QUANTITY = Utilization(
    Measure("mfu", "model FLOPs utilization", "Y_MFU", "of the peak"),
    "The FLOPs that training needs for N_tps tokens a second, in sequences of S, over the N_peak FLOPs a second of "
    "each of N_dev devices; Chowdhery et al. 2022 [chowdhery2022], appendix B. One forward and one backward pass over "
    "each token, contractions only and 2 FLOPs a multiply-add; nothing that is computed again is counted.",
    STEP.rules,
    STEP.columns,
    {name: convention for name, convention in STEP.conventions.items() if name != "recompute"},
    "A share of a peak has no certificate of its own. What stands above is as many times the training FLOPs of a "
    "batch, which are certified, as there are batches a second; the shares that papers print are compared with it in "
    "the tests.",
    follows="train-flops",
    logits=STEP.logits,
    encoder="The tokens are the decoder's; the encoder reads one sequence for each S of them.",
    frozen=STEP.frozen,
    rule_sets=STEP.rule_sets,
    of_a_batch="The FLOPs that training needs for N_tps tokens a second, in sequences of S, over the N_peak FLOPs a "
    "second of each of N_dev devices; Chowdhery et al. 2022 [chowdhery2022], appendix B. Of a batch of B sequences:",
    counts=Measure("used", "FLOPs a second that the model needs", "F_model", "FLOPs"),
)
