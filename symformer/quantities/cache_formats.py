"""Formats of cached keys and values: the bytes of each element and of its scales, and pages of several tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sympy import Expr, Integer, Rational, ceiling, floor

from ..language.symbols import C, W

ELEMENTS: Mapping[str, Expr] = MappingProxyType(
    {"bf16": Integer(2), "fp16": Integer(2), "fp32": Integer(4), "fp8": Integer(1), "symbolic": W}
)


@dataclass(frozen=True)
class CacheFormat:
    """A format of cached keys and values.

    Attributes
    ----------
    name : str
        The value of the convention.
    meaning : str
        The layout, in words.
    element : Expr
        The bytes of one element, with its share of the scale of its block.
    block : int
        The elements of a block, which must divide ``width``; 1 without blocks.
    width : str
        Where blocks run: "token" over all key/value heads of a token, as in llama.cpp, or "head" over one head.
    scale : int
        The bytes of the scale of each token and head.
    packed : bool
        Whether it is a format of latents only, whose rotary keys have 2 bytes per element.

    """

    name: str
    meaning: str
    element: Expr
    block: int = 1
    width: str = "token"
    scale: int = 0
    packed: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether every element has the same bytes and there is nothing else."""
        return self.name in ELEMENTS

    @property
    def fits_latents(self) -> bool:
        """Whether it stores latents: formats by head do not, because latents have no heads."""
        return self.width == "token" and not self.scale


def _blocks(name: str, size: int, block: int) -> CacheFormat:
    meaning = f"llama.cpp: {size} bytes for each {block} elements of the keys or the values of a token"
    return CacheFormat(name, meaning, Rational(size, block), block)


_FORMATS = (
    CacheFormat("bf16", "2 bytes per element", Integer(2)),
    CacheFormat("fp16", "2 bytes per element", Integer(2)),
    CacheFormat("fp32", "4 bytes per element", Integer(4)),
    CacheFormat("fp8", "1 byte per element", Integer(1)),
    CacheFormat("symbolic", "W bytes per element", W),
    *(
        _blocks(name, size, 32)
        for name, size in (("q8_0", 34), ("q5_1", 24), ("q5_0", 22), ("q4_1", 20), ("q4_0", 18), ("iq4_nl", 18))
    ),
    *(
        CacheFormat(
            f"{name}-head",
            "vLLM: 1 byte per element, and 4 bytes for each token and key/value head",
            Integer(1),
            scale=4,
        )
        for name in ("fp8", "int8")
    ),
    CacheFormat("nvfp4", "vLLM: 4 bits per element, and 1 byte for each 16 of a head", Rational(9, 16), 16, "head"),
    CacheFormat(
        "fp8-ds-mla",
        "FlashMLA: 1 byte per element of a latent, and 4 bytes for each 128; 2 bytes per element of its rotary key; "
        "keys of an indexer as latents",
        Rational(33, 32),
        128,
        packed=True,
    ),
)
CACHE_FORMATS: Mapping[str, CacheFormat] = MappingProxyType({each.name: each for each in _FORMATS})
CACHE_MEANINGS: Mapping[str, str] = MappingProxyType({each.name: each.meaning for each in _FORMATS})
UNUSUAL_CACHES = frozenset(CACHE_FORMATS) - frozenset(ELEMENTS)
PAGES: Mapping[str, str] = MappingProxyType(
    {
        "off": "the cache has exactly C tokens",
        **{
            str(size): f"the cache of each sequence is a whole number of pages of {size} tokens, Kwon et al. 2023 "
            "[kwon2023], section 4.1"
            for size in (1, 2, 4, 8, 16, 32, 64, 128, 256)
        },
    }
)


def paged(block: str, tokens: Expr = C) -> Expr:
    """Return the tokens that pages of this convention hold for a sequence, by default of C tokens.

    >>> paged("off"), paged("16")
    (C, 16*ceiling(C/16))
    """
    return tokens if block == "off" else int(block) * ceiling(tokens / int(block))


def whole_pages(block: str, tokens: Expr) -> Expr:
    """Return the tokens in the pages that this many tokens fill.

    >>> whole_pages("off", C), whole_pages("16", C)
    (C, 16*floor(C/16))
    """
    return tokens if block == "off" else int(block) * floor(tokens / int(block))
