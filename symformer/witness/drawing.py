"""The sizes that a model's code is tried at, random and such as it is likely to take.

What the names of config fields hint at is a guess and never a proof: a wrong one costs builds, and no formula.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain, count
from math import gcd, lcm
from random import Random

from ..language.symbols import LETTERED, LETTERS
from .fitting import Point

# Such a field is made small while the shapes are found, if the code takes it.
_ORDINAL = r"interval|step|freq|every|period|start|end|index|offset|per_|shared|size|dense|first"
DEEP = re.compile(rf"^num_layers|^(?!.*({_ORDINAL})).*(layer|block|depth)")
ENTRY = re.compile(r"\[(\d+)\]$")  # of a list
POSITIONS = re.compile(r"max_.*position|n_positions|n_ctx")  # at least as many as a run has tokens
BLOCK = re.compile(r"(chunk|block)_size$")  # of tokens that are read together
IMAGE = re.compile(r"(image|img|input)_size$")  # in whole patches
# What a formula has to be in: vocabulary, widths, layers and heads, by their letters or by a name that says so.
_USUAL = {name for letter in ("V", "E", "H", "L", "L_enc", "L_dec", "A", "G") for name in LETTERS[letter].config}
_SAYS_SO = re.compile(r"(^|_)(heads|layers|ffn_dim)$")


def usual(name: str) -> bool:
    """Whether a field is a size that a formula has to be in; it is never kept at its number to save the rest."""
    last = ENTRY.sub("", name.rpartition(".")[2])
    return last in _USUAL or bool(_SAYS_SO.search(last))


def divides(name: str) -> bool:
    """Whether a field is by its name a number of heads, which divides a width."""
    word = name.rpartition(".")[2]
    return bool(re.search(r"^A$|head", word)) and not re.search(r"dim|size", word)


def is_window(name: str) -> bool:
    """Return whether a field is the number of tokens in a window or in a chunk, and not how often such layers occur."""
    return ("window" in name or "attention_chunk" in name) and "pattern" not in name and not DEEP.search(name)


def odd(name: str) -> bool:
    """Whether a size may stay at its number to save the rest."""
    return name not in LETTERED and not usual(name) and name != ""


@dataclass(frozen=True)
class Multiples:
    """What random sizes are: multiples of where they start, wherever the code asks that one divides another."""

    groups: tuple[int, ...]
    heads: tuple[int, ...]  # of any groups
    widths: tuple[int, ...]  # of any heads
    patches: tuple[int, ...]
    repeats: tuple[int, ...]  # how many more
    rows: range
    last: bool  # of the lengths that can be drawn, whether only the last two

    @property
    def divisors(self) -> list[int]:
        """What divides all widths drawn, and is as far from what others draw as the groups are."""
        return [n for n in range(2, gcd(*self.widths) + 1) if gcd(*self.widths) % n == 0 and n % self.groups[0] == 0]

    def drawn(self, lengths: Sequence[int]) -> Sequence[int]:
        """Which of these lengths are drawn from."""
        return lengths[-2:] if self.last else lengths[:-2]

    def draw(
        self, random: Random, base: Point, widths: Sequence[str], draws: Mapping[str, Sequence[int]], repeats: Set[str]
    ) -> dict[str, int]:
        """Random sizes that divide as heads and groups do: each level is a multiple of the next.

        Some are drawn from ``draws`` instead; those that only repeat something are made a few more.
        """
        point = dict(base)
        lists: dict[str, set[int]] = {}  # what the entries of a list are so far, which all differ
        for name in widths:
            word = name.rpartition(".")[2]
            siblings = lists.setdefault(ENTRY.sub("", name), set()) if ENTRY.search(name) else set()
            if name in draws:
                point[name] = random.choice(self.drawn(draws[name]))
            elif name in repeats:
                point[name] = base[name] + random.choice(self.repeats)
            elif "vocab" in word:  # above the token ids that the config names
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
        for name in widths:  # an image is cut into whole patches
            patch = IMAGE.sub("patch_size", name)
            if patch != name and patch in point:
                point[name] = point[patch] * random.choice(self.patches)
        return point


def _drawn(random: Random, size: int, times: Sequence[int], others: Set[int], spare: Sequence[int] = ()) -> int:
    """A multiple of a size that is none of some others; where all these are taken, a spare or a larger one."""
    for offered in chain((times, spare), ([each * more for each in times] for more in count(2))):
        if free := [size * each for each in offered if size * each not in others]:
            return random.choice(free)
    raise AssertionError


SETTLING = Multiples(
    (1, 2), (2, 4, 6), (12, 24, 36, 60, 84), (12, 24, 36, 60), (0, 1, 2, 3), range(1, 1999), last=False
)
# No value of one is a value of the other, or one of its STEPS: a formula that fits by chance does not fit the second.
UNSEEN = Multiples((5, 10), (10, 20), (300, 420, 660), (84, 132), (4, 5), range(2000, 3999), last=True)
UNSEEN_SMALL = replace(UNSEEN, groups=(5,), heads=(5, 10), widths=(10, 50, 70, 110))  # where these overflow a tensor
UNSEEN_RUN = replace(UNSEEN, widths=(100, 140, 220))  # smaller: a run multiplies more of them than a shape
