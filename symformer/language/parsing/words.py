"""Words that papers and code use as one name, and ambiguous words, which are an error."""

from __future__ import annotations

import re

from ..symbols import LETTERS
from .tokens import GREEK


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A run of letters by itself is a product of letters unless it is one of these words.
WORDS = _words(
    """
    seq seqlen vocab vocabulary head heads key keys value values query queries layer layers hidden batch bsz bytes
    embed embedding embeddings emb attn attention dense logits ffn ffw mlp model experts expert tokens token params
    dim width depth ctx context size out img image patch patches classes channels steps step rank ranks inner
    intermediate positions position lora rope kvheads nheads nhead nlayers nlayer headdim dmodel bias biases norm norms
    """
) | {spelt for name in GREEK if len(name) > 2 for spelt in (name, name.capitalize())}
# Words that may be a subscript without braces.
BELOW = (
    WORDS
    | _words("a b c d e f g h i j k l m n o p q r s t v x")
    | _words(
        """
        kv ff ctx seq vocab embd cls exp moe qk nope up down gate len length max min state conv win local global shared
        routed active tot total enc dec vis in tp pp dp cp ep gpu gpus gpt dt forward backward fwd bwd train int rot
        rotary multiplier multiple group groups per tok new chunk ssm
        """
    )
    | {part.lower() for name in LETTERS for part in name.split("_")[1:]}
    | {part for each in LETTERS.values() for field in each.config for part in field.split("_")}
)
# Names of several words joined by underscores, as in code.
FIELDS = frozenset(field for each in LETTERS.values() for field in each.config) | frozenset(LETTERS)
# Ambiguous: a product of letters or one name.
EITHER = _words("tp pp dp ep cp kv ff bs nh")
PROSE = _words(
    """
    or and if for the of is in on to by with per where are from than then else when not it we be this that
    """
)
FUNCTIONS = {"floor": "floor", "ceil": "ceil", "ceiling": "ceil", "sqrt": "sqrt", "max": "max", "min": "min"}
CALLED = _words("log ln exp sum prod abs int round mod len range pow float eval exec")

_LOWER = re.compile(r"[a-z]{5,}|(?<=[A-Z])[a-z]{4,}|^[a-z]+(?=[A-Z][a-z]{2})")
_UPPER = re.compile(r"[A-Z]{7,}")


def known(run: str) -> str:
    """Return the known word that a run of letters is, with a lower-case initial if needed; empty if there is none."""
    if run in WORDS or run in FIELDS:
        return run
    lowered = run[:1].lower() + run[1:]
    return lowered if len(run) > 2 and lowered in WORDS else ""


def too_long(run: str) -> bool:
    """Return True if a run of letters looks like a word, because it is too long for a product without spaces."""
    repeated = len(run) > 4 and run.isupper() and len(set(run)) < len(run)
    return bool(_LOWER.search(run) or _UPPER.search(run) or repeated)


def within(run: str, words: frozenset[str]) -> str:
    """Return a word that a run of letters starts or ends with; empty if there is none."""
    long = {each for each in WORDS if len(each) > 2} | {each for each in words if len(each) > 1 and each.isalpha()}
    found = [each for each in long if each != run and (run.startswith(each) or run.endswith(each))]
    return max(sorted(found), key=len, default="")
