"""What all tests share."""

from __future__ import annotations

import os

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["SYMFORMER_CACHE"] = ""  # nothing that an earlier run kept answers in a test
os.environ["HF_HUB_CACHE"] = os.path.join(os.path.dirname(__file__), "no-cache")  # what somebody has answers nothing

import symformer.witness  # noqa: F401 (it looks at the switch once, before a test takes that away)
