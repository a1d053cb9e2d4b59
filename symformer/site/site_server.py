"""Serves a site on this computer only, at its loopback address."""

from __future__ import annotations

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ..language.errors import SiteError

LOOPBACK = "127.0.0.1"


class _QuietHandler(SimpleHTTPRequestHandler):
    """A handler that prints no line for each request."""

    extensions_map = {
        **SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
        ".html": "text/html; charset=utf-8",
    }

    def log_message(self, format: str, *args: Any) -> None:
        return


def site_server(folder: str, port: int) -> ThreadingHTTPServer:
    """Return a server of a folder at a port, or at any free one if the port is 0. Raises SiteError if it is taken."""
    try:
        return ThreadingHTTPServer((LOOPBACK, port), partial(_QuietHandler, directory=folder))
    except OSError as error:
        raise SiteError(f"{LOOPBACK}:{port} cannot be served: {error.strerror}; choose another --port") from None
