"""PLAIN (RFC 4616), the client's side: a user and a password in clear, so on TLS only outside of tests."""

from __future__ import annotations


class PlainClient:
    """A `ClientMechanism` with one user's password."""

    name = "PLAIN"

    def __init__(self, user: str, password: str) -> None:
        self._message = f"\0{user}\0{password}".encode()

    def begin(self) -> _PlainNegotiation:
        return _PlainNegotiation(self._message)


class _PlainNegotiation:
    def __init__(self, message: bytes) -> None:
        self._message = message

    def first(self) -> bytes:
        return self._message

    def respond(self, token: bytes) -> None:  # noqa: ARG002
        return None
