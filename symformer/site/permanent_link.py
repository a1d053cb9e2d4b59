"""The address of a question in the playground, as the playground itself writes it."""

from __future__ import annotations

import json
import os
import zlib
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from urllib.parse import urlencode, urlsplit

from ..configs.config_json import read_config
from ..language.errors import SiteError
from ..language.target import TargetKind, parse

PUBLISHED = "https://symformer.github.io/symformer/"
VARIABLE = "SYMFORMER_SITE"  # the address of another copy of the site
IN_BROWSER = (TargetKind.NAME, TargetKind.COMPONENT, TargetKind.HF, TargetKind.HUB, TargetKind.CONFIG)
LONGEST = 16_000  # characters that browsers and servers accept in an address


def permanent_link(target: str, quantity: str = "params", sets: Sequence[str] = (), options: Sequence[str] = ()) -> str:
    """Return the address at which the playground answers a question about a model.

    Parameters
    ----------
    target
        A target as on the command line. A config.json becomes a part of the address.
    quantity
        The quantity to count.
    sets, options
        The sizes, and the options and conventions, as ``--set`` and ``--option`` take them.

    Raises
    ------
    SiteError
        If the target is code of this computer, the config is too long for an address, or the site's address is not one.
    ConfigError
        If the config.json cannot be read.

    Examples
    --------
    >>> permanent_link("gpt2", "kv-cache", ["C=1024"])
    'https://symformer.github.io/symformer/playground.html#model=gpt2&q=kv-cache&set=C%3D1024'

    """
    kind = parse(target).kind
    if kind not in IN_BROWSER:
        raise SiteError(f"{target} is {kind.value}, whose code cannot run in the playground; give its config.json")
    if kind is TargetKind.CONFIG:
        content = json.dumps(read_config(target), ensure_ascii=False, separators=(",", ":"))
        about = [("config", _packed(content.encode()))]
    else:
        about = [("model", target)]
    about += [("q", quantity)] if quantity != "params" else []
    about += [*(("set", each) for each in sets), *(("option", each) for each in options)]
    link = f"{_site()}playground.html#{urlencode(about)}"
    if len(link) > LONGEST:
        raise SiteError(
            f"{target} needs an address of {len(link):,} characters, and browsers accept {LONGEST:,}; paste it into "
            f"{_site()}playground.html"
        )
    return link


def _site() -> str:
    """Return the address of the site, with a slash at its end."""
    address = os.environ.get(VARIABLE) or PUBLISHED
    if urlsplit(address).scheme not in ("http", "https") or not urlsplit(address).netloc:
        raise SiteError(f"{VARIABLE} is {address!r}; set it to the address of a site, such as http://127.0.0.1:8000/")
    return address.rstrip("/") + "/"


def _packed(content: bytes) -> str:
    """Return bytes compressed without a header, in the alphabet of addresses."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return urlsafe_b64encode(packer.compress(content) + packer.flush()).decode().rstrip("=")
