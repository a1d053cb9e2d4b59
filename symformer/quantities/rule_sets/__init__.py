"""Published FLOP counts: one rule set with its source per paper or code base."""

from __future__ import annotations

from collections.abc import Mapping

from .maxtext import MAXTEXT
from .megatron import BRIDGE, MEGATRON
from .nanogpt import NANOGPT
from .palm_paper import PALM
from .rule_set import RuleSet, RuleSets
from .timm import TIMM
from .torchtitan import TORCHTITAN
from .verl import VERL
from .vllm import VLLM

TRAINING: Mapping[str, RuleSet] = RuleSets("train-flops", PALM, NANOGPT, TORCHTITAN, MEGATRON, BRIDGE, MAXTEXT, VERL)
PROMPT: Mapping[str, RuleSet] = RuleSets("prefill-flops", VLLM)
IMAGES: Mapping[str, RuleSet] = RuleSets("flops", TIMM)
