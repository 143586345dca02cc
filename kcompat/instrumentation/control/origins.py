"""Protection from web pages: which requests come from a program and not from a page of another origin.

A browser sends requests of any page to a port of its own machine. Against DNS rebinding, by which the name of
a page resolves to the loopback address, the `Host` must be a name that no page can have. A request with the
`Origin` of another page is refused too.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def refusal(host: str, origin: str | None, *, is_loopback: bool) -> str | None:
    """Return the reason in a sentence why a request is refused, or None.

    `host` and `origin` are the headers of the request. A port that is open to other machines, where not
    `is_loopback`, is also reached by addresses and by names of a local network, which have no dot.
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        name = ""
    if name not in _LOOPBACK and (is_loopback or not _is_local(name)):
        return f"the control port is not reached by the name {host!r}: use localhost"
    if origin is not None and origin != f"http://{host}":
        return f"the control port does not serve pages of {origin!r}"
    return None


def _is_local(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return bool(name) and "." not in name
    return True
