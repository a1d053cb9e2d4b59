"""Random sizes at which a model's code is tested, chosen so that the code is likely to accept them.

Hints from the names of config fields are only guesses: a wrong one costs builds, but never makes a formula wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain, count
from math import gcd, lcm
from random import Random

from ..language.symbols import LETTERS
from .interpolation import Point

# Such a field is small while the shapes are found, if the code accepts it.
_ORDINAL = r"interval|step|freq|every|period|start|end|index|offset|per_|shared|size|dense|first"
DEEP = re.compile(rf"^num_layers|^(?!.*({_ORDINAL})).*(layer|block|depth)")
ENTRY = re.compile(r"\[(\d+)\]$")  # the index of a list entry
POSITIONS = re.compile(r"max_.*position|n_positions|n_ctx")  # at least the number of tokens in a run
BLOCK = re.compile(r"(chunk|block)_size$")  # number of tokens that are read together
IMAGE = re.compile(r"(image|img|input)_size$")  # a multiple of the patch size
# Sizes that a formula must contain: vocabulary, widths, layers and heads, by their letters or by such a name.
_USUAL = {name for letter in ("V", "E", "H", "L", "L_enc", "L_dec", "A", "G") for name in LETTERS[letter].config}
_SAYS_SO = re.compile(r"(^|_)(heads|layers|ffn_dim)$")


def is_essential(name: str) -> bool:
    """Return True if a formula must contain this size, so that it is never fixed to save the rest."""
    last = ENTRY.sub("", name.rpartition(".")[2])
    return last in _USUAL or bool(_SAYS_SO.search(last))


def divides(name: str) -> bool:
    """Return True if a field is a number of heads by its name, which divides a width."""
    word = name.rpartition(".")[2]
    return bool(re.search(r"^A$|head", word)) and not re.search(r"dim|size", word)


def is_window(name: str) -> bool:
    """Return whether a field is the number of tokens in a window or in a chunk, and not how often such layers occur."""
    return ("window" in name or "attention_chunk" in name) and "pattern" not in name and not DEEP.search(name)


def is_optional(name: str) -> bool:
    """Return True if a size is non-essential, so that it may be fixed to save the rest."""
    return name not in LETTERS and not is_essential(name) and name != ""


@dataclass(frozen=True)
class Multiples:
    """Random sizes as multiples of the initial sizes, so that they divide each other as the code requires."""

    groups: tuple[int, ...]
    heads: tuple[int, ...]  # multiples of all groups
    widths: tuple[int, ...]  # multiples of all heads
    patches: tuple[int, ...]
    repeats: tuple[int, ...]  # numbers to add
    rows: range
    last: bool  # True to sample only the last two of the possible lengths, False to sample the others

    @property
    def divisors(self) -> list[int]:
        """The common divisors of all widths that are multiples of the smallest group."""
        return [n for n in range(2, gcd(*self.widths) + 1) if gcd(*self.widths) % n == 0 and n % self.groups[0] == 0]

    def drawn(self, lengths: Sequence[int]) -> Sequence[int]:
        """Return the sampled lengths among the possible ones."""
        return lengths[-2:] if self.last else lengths[:-2]

    def draw(
        self, random: Random, base: Point, widths: Sequence[str], draws: Mapping[str, Sequence[int]], repeats: Set[str]
    ) -> dict[str, int]:
        """Return random sizes that divide each other like heads and groups: each level is a multiple of the next.

        Sizes in ``draws`` are sampled from there; those in ``repeats`` are increased slightly.
        """
        point = dict(base)
        lists: dict[str, set[int]] = {}  # the sampled entries of each list, which must all differ
        for name in widths:
            word = name.rpartition(".")[2]
            siblings = lists.setdefault(ENTRY.sub("", name), set()) if ENTRY.search(name) else set()
            if name in draws:
                point[name] = random.choice(self.drawn(draws[name]))
            elif name in repeats:
                point[name] = base[name] + random.choice(self.repeats)
            elif "vocab" in word:  # above the token ids in the config
                point[name] = base[name] + random.choice(self.rows)
            elif POSITIONS.search(word):
                point[name] = 600 + random.choice(self.rows)
            elif re.search(r"^[GK]$|kv|key_value|group|per_tok|top_?k$", word) and not re.search(
                r"dim|rank|size|lora", word
            ):
                point[name] = _drawn(random, base[name], self.groups, siblings)
            elif divides(name):
                point[name] = _drawn(random, base[name], self.heads, siblings, self.divisors)
            else:
                heads = (value for other, value in base.items() if re.search(r"num.*heads|n_heads?$", other))
                whole = lcm(base[name], *heads) if re.search(r"hidden_size$|d_model|n_embd", word) else base[name]
                point[name] = _drawn(random, whole, self.widths, siblings)
            siblings.add(point[name])
        for name in widths:  # an image consists of whole patches
            patch = IMAGE.sub("patch_size", name)
            if patch != name and patch in point:
                point[name] = point[patch] * random.choice(self.patches)
        return point


def _drawn(random: Random, size: int, times: Sequence[int], others: Set[int], spare: Sequence[int] = ()) -> int:
    """Return a multiple of a size that is not in ``others``; if all are taken, a spare or a larger one."""
    for offered in chain((times, spare), ([each * more for each in times] for more in count(2))):
        if free := [size * each for each in offered if size * each not in others]:
            return random.choice(free)
    raise AssertionError


SETTLING = Multiples(
    (1, 2), (2, 4, 6), (12, 24, 36, 60, 84), (12, 24, 36, 60), (0, 1, 2, 3), range(1, 1999), last=False
)
# The two sets share no values and differ by none of the STEPS, so a formula that fits one by chance fails the other.
UNSEEN = Multiples((5, 10), (10, 20), (300, 420, 660), (84, 132), (4, 5), range(2000, 3999), last=True)
UNSEEN_SMALL = replace(UNSEEN, groups=(5,), heads=(5, 10), widths=(10, 50, 70, 110))  # if the others overflow a tensor
UNSEEN_RUN = replace(UNSEEN, widths=(100, 140, 220))  # smaller, because a run multiplies more of them than a shape
