"""Addresses of clients."""

from __future__ import annotations

from ipaddress import ip_address


def numeric_address(name: str) -> str:
    """Return an address in the form that sockets use, such as `::1` for `0:0:0:0:0:0:0:1`; return any other
    name unchanged.
    """
    try:
        return str(ip_address(name))
    except ValueError:
        return name
