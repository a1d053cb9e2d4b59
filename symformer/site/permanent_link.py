"""The address of a question in the playground, as the playground itself writes it."""

from __future__ import annotations

import json
import os
import zlib
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from ..configs.config_json import read_config
from ..language.errors import SiteError
from ..language.target import TargetKind, parse
from ..quantities import quantity as find_quantity
from ..targets.resolution import pairs, resolve
from .site_address import EXAMPLE as PUBLISHED
from .site_address import checked_address

VARIABLE = "SYMFORMER_SITE"  # the address of another copy of the site
OF_CODE = (TargetKind.FACTORY, TargetKind.MODULE)
LONGEST = 16_000  # characters that browsers and servers accept in an address


def permanent_link(target: str, quantity: str = "params", sets: Sequence[str] = (), options: Sequence[str] = ()) -> str:
    """Return the address at which the playground answers a question about a model.

    Parameters
    ----------
    target
        A target as on the command line. A config.json becomes a part of the address. An id on the Hub is not looked
        up, because the playground does that.
    quantity
        The quantity to count.
    sets, options
        The sizes, and the options and conventions, as ``--set`` and ``--option`` take them.

    Raises
    ------
    SiteError
        If the target is code of this computer, the config is too long for an address, or the site's address is not one.
    SymformerError
        If the question has no answer.

    Examples
    --------
    >>> permanent_link("gpt2", "kv-cache", ["C=1024"])
    'https://symformer.github.io/symformer/playground.html#model=gpt2&q=kv-cache&set=C%3D1024'

    """
    site = checked_address(os.environ.get(VARIABLE) or PUBLISHED, VARIABLE)
    named = parse(target)
    if named.kind in OF_CODE:
        raise SiteError(f"{target} is {named.kind.value}, which cannot run in the playground; give its config.json")
    asked: str | Mapping[str, Any] = target
    about = [("model", target)]
    if named.kind is TargetKind.CONFIG or (named.kind is TargetKind.NAME and os.path.isdir(named.name)):
        asked = read_config(named.name)
        about = [("config", packed(json.dumps(asked, ensure_ascii=False, separators=(",", ":"))))]
    if named.kind is TargetKind.HUB:
        find_quantity(quantity)
    else:
        model, conventions = resolve(asked, pairs(options), sets, [quantity], trace=False)
        model.check_run_sizes([model.formula(quantity, **conventions)])
    about += [("q", quantity)] if quantity != "params" else []
    about += [*(("set", each) for each in sets), *(("option", each) for each in options)]
    link = f"{site}playground.html#{urlencode(about)}"
    if len(link) > LONGEST:
        raise SiteError(
            f"{target} needs an address of {len(link):,} characters, and browsers accept {LONGEST:,}; paste it into "
            f"{site}playground.html"
        )
    return link


def packed(config: str) -> str:
    """Return the text of a config.json compressed without a header, in the alphabet of addresses."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return urlsafe_b64encode(packer.compress(config.encode()) + packer.flush()).decode().rstrip("=")
