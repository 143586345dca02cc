"""The check by which an HTTP port of a broker tells programs from web pages.

A browser sends requests of any page to a port of its own machine. Against DNS rebinding, by which the name of
a page resolves to the loopback address, the `Host` must be a name that no page can have. A request with the
`Origin` of another page is refused too.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Guarded:
    """An application that serves no web pages of other origins. `refused(reason)` makes their response."""

    def __init__(
        self, served: ASGIApp, what: str, refused: Callable[[str], Response], *, is_loopback: bool
    ) -> None:
        """`what` names the port in reasons, such as "control port"; `is_loopback` tells that other machines
        do not reach it.
        """
        self._served = served
        self._what = what
        self._refused = refused
        self._is_loopback = is_loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, Any] = dict(scope["headers"])
        # Health checks in HTTP/1.0 have no Host; each request of a browser has one.
        host = headers.get(b"host", b"localhost").decode("latin-1")
        origin = headers.get(b"origin")
        reason = refusal(
            self._what,
            host,
            None if origin is None else origin.decode("latin-1"),
            is_loopback=self._is_loopback,
        )
        await (self._served if reason is None else self._refused(reason))(scope, receive, send)


def refusal(what: str, host: str, origin: str | None, *, is_loopback: bool) -> str | None:
    """Return the reason in a sentence why a request is refused, or None.

    `host` and `origin` are the headers of the request. A port that is open to other machines, where not
    `is_loopback`, is also reached by addresses and by names of a local network, which have no dot.
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        name = ""
    if name not in _LOOPBACK and (is_loopback or not _is_local(name)):
        return f"the {what} is not reached by the name {host!r}: use localhost"
    if origin is not None and origin != f"http://{host}":
        return f"the {what} does not serve pages of {origin!r}"
    return None


def _is_local(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return bool(name) and "." not in name
    return True
