"""Model FLOPs utilization: training FLOPs per second, without recomputation, over the peak of the devices."""

from __future__ import annotations

from ..formulas.account import Measure
from .train_flops import QUANTITY as STEP
from .utilization import Utilization

QUANTITY = Utilization(
    Measure("mfu", "model FLOPs utilization", "Y_MFU", "of the peak"),
    "The fraction of peak FLOPs that training needs: the FLOPs of N_tps tokens per second, in sequences of S, divided "
    "by the peak of N_dev devices with N_peak FLOPs per second each; Chowdhery et al. 2022 [chowdhery2022], appendix "
    "B. Counts one forward and one backward pass over each token: contractions only, at 2 FLOPs per multiply-add. "
    "Recomputation is excluded.",
    STEP.rules,
    STEP.columns,
    {name: convention for name, convention in STEP.conventions.items() if name != "recompute"},
    "A fraction of a peak has no certificate of its own. The numerator is the training FLOPs of one batch, which have "
    "a certificate, times the number of batches per second. The tests compare the fraction with published values.",
    derived_from="train-flops",
    logits=STEP.logits,
    encoder="The tokens are the decoder's; the encoder reads one sequence per S tokens.",
    frozen=STEP.frozen,
    rule_sets=STEP.rule_sets,
    of_a_batch="The fraction of peak FLOPs that training needs: the FLOPs of N_tps tokens per second, in sequences of "
    "S, divided by the peak of N_dev devices with N_peak FLOPs per second each; Chowdhery et al. 2022 [chowdhery2022], "
    "appendix B. For one batch of B sequences:",
    numerator=Measure("used", "FLOPs per second that the model needs", "F_model", "FLOPs"),
)
