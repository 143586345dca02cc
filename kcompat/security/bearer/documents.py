"""Documents of an identity provider, from a file or a web server: of bounded size, in bounded time.

These functions block, so they run beside the event loop.
"""

from __future__ import annotations

import time
import urllib.request
from http.client import HTTPException
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit, urlunsplit

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping

LARGEST_DOCUMENT: Final = 1024 * 1024
"""Bytes of the largest document that is read."""
FETCH_TIMEOUT_S: Final = 10.0
"""Longest time in seconds for reading a document."""

_PIECE: Final = 64 * 1024
_NONE: Final[Mapping[str, str]] = MappingProxyType({})


def fetcher(
    url: str,
    tls: Callable[[], ssl.SSLContext] | None = None,
    *,
    headers: Mapping[str, str] = _NONE,
    body: bytes | None = None,
    timeout_s: float = FETCH_TIMEOUT_S,
) -> Callable[[], bytes]:
    """Return a function that fetches the document at a URL; it raises OSError.

    `tls` makes the TLS context for `https`; without it, the certificate authorities of the system are
    trusted. A web server gets the `headers`, and the `body` if there is one (POST).

    Raises:
        ValueError: the URL is neither of a file nor of a web server.
    """
    parts = urlsplit(url)
    if parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path:
        return lambda: _read_file(Path(unquote(parts.path)))
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError('only "http", "https" and "file" are supported')
    accepting = {"Accept": "application/json", **headers}
    request = urllib.request.Request(url, body, accepting)  # noqa: S310 - the scheme is checked
    return lambda: _ask(request, tls, timeout_s)


def shown(url: str) -> str:
    """Return a URL for the log, without the parts that may be secret: user, password and query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _ask(
    request: urllib.request.Request, tls: Callable[[], ssl.SSLContext] | None, timeout_s: float
) -> bytes:
    """Return the response of a web server. Raises OSError.

    Redirections are not followed and proxies in the environment are not used, so that only the configured
    address is contacted.
    """
    deadline = time.monotonic() + timeout_s
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}),
        _NoRedirect(),
        urllib.request.HTTPSHandler(context=None if tls is None else tls()),
    )
    try:
        with opener.open(request, timeout=timeout_s) as response:
            return _read(response, deadline)
    except HTTPException as error:
        raise OSError(f"the answer is not HTTP: {type(error).__name__}") from error


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def _read(response: Any, deadline: float) -> bytes:
    data = bytearray()
    while piece := response.read1(_PIECE):
        data += piece
        if len(data) > LARGEST_DOCUMENT:
            raise OSError(f"the document has more than {LARGEST_DOCUMENT} bytes")
        if time.monotonic() > deadline:
            raise TimeoutError("the document did not come in time")
    return bytes(data)


def _read_file(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(LARGEST_DOCUMENT + 1)
    if len(data) > LARGEST_DOCUMENT:
        raise OSError(f"the document has more than {LARGEST_DOCUMENT} bytes")
    return data
