"""Certificates of an authority in memory, and the contexts of OpenSSL that use them."""

from __future__ import annotations

import ssl
from functools import cache

import trustme


@cache
def authority(number: int = 0) -> trustme.CA:
    """Return an authority, the same one each time for a number."""
    return trustme.CA(organization_name=f"authority {number}")


def server_context(*names: str, number: int = 0, client_auth: bool = False) -> ssl.SSLContext:
    """Return the context of a server with a certificate for these names; with `client_auth` it demands a
    certificate of the same authority.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority(number).issue_cert(*names).configure_cert(context)
    if client_auth:
        authority(number).configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def client_context(number: int = 0, name: str | None = None) -> ssl.SSLContext:
    """Return the context of a client that trusts an authority; `name` gives it a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority(number).configure_trust(context)
    if name is not None:
        authority(number).issue_cert(name).configure_cert(context)
    return context
