"""Addresses that the person who builds or uses a site gives."""

from __future__ import annotations

from urllib.parse import urlsplit

from ..language.errors import SiteError

EXAMPLE = "https://symformer.github.io/symformer/"
FOREIGN = " ;,'\"<>\\"  # characters that a host or a content security policy cannot have


def checked_address(address: str, what: str) -> str:
    """Return the address of a site, with a slash at its end.

    Parameters
    ----------
    address
        The address.
    what
        What gives it, for the message, such as ``--base-url``.

    Raises
    ------
    SiteError
        If it is not an absolute address of a folder.

    Examples
    --------
    >>> checked_address("https://a.org/b", "--base-url")
    'https://a.org/b/'

    """
    if not _is_address(address) or "?" in address or "#" in address:
        raise SiteError(f"{what} is {address[:200]!r}; give the address of a site, such as {EXAMPLE}")
    return address.rstrip("/") + "/"


def checked_origin(endpoint: str) -> str:
    """Return an endpoint without a slash at its end. Raises SiteError if it is not an origin.

    >>> checked_origin("https://huggingface.co/")
    'https://huggingface.co'
    """
    address = endpoint.rstrip("/")
    if not _is_address(address) or address.count("/") > len("//") or "?" in address or "#" in address:
        raise SiteError(f"the endpoint {endpoint[:200]!r} is not of the form https://HOST")
    return address


def _is_address(address: str) -> bool:
    try:
        place = urlsplit(address)
        whole = place.scheme in ("http", "https") and bool(place.hostname) and (place.port is None or place.port > 0)
    except ValueError:  # a malformed host or port
        return False
    return whole and "@" not in place.netloc and address.isprintable() and not any(each in address for each in FOREIGN)
