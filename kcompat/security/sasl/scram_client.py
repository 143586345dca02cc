"""SCRAM (RFC 5802, RFC 7677), the client's side: proof of a password, and of the server's knowledge of it.

A salted password costs as many rounds as the server asks for. So the server's number is bounded, and the
result is kept: brokers log in to one another with the same salt all the time.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from typing import TYPE_CHECKING, Final

from kcompat.security.sasl.mechanism import SaslError

if TYPE_CHECKING:
    from collections.abc import Callable

HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
ITERATIONS: Final = range(4096, 16385)
"""Rounds that a server may ask for: Kafka's bounds of what it stores."""
LONGEST_SALT: Final = 1024

_FIRST_REPLY: Final = re.compile(
    rb"(?:m=[^,]*,)?r=([\x21-\x2b\x2d-\x7e]+),s=([A-Za-z0-9/+=]+),i=([0-9]{1,9})(?:,.*)?"
)
_FINAL_REPLY: Final = re.compile(rb"v=([A-Za-z0-9/+=]+)(?:,.*)?")


class ScramClient:
    """A `ClientMechanism` with one user's password."""

    def __init__(
        self,
        name: str,
        user: str,
        password: str,
        nonce: Callable[[], str] = lambda: secrets.token_urlsafe(18),
    ) -> None:
        """Prepare logins by the mechanism `name`, one of `HASHES`."""
        self.name = name
        self._user = user.replace("=", "=3D").replace(",", "=2C")
        self._password = password.encode()
        self._nonce = nonce
        self._last_salted: tuple[bytes, int, bytes] | None = None

    def begin(self) -> _ScramNegotiation:
        return _ScramNegotiation(self._user, self._nonce(), HASHES[self.name], self._salted)

    def _salted(self, salt: bytes, iterations: int) -> bytes:
        if self._last_salted is None or self._last_salted[:2] != (salt, iterations):
            result = hashlib.pbkdf2_hmac(HASHES[self.name], self._password, salt, iterations)
            self._last_salted = salt, iterations, result
        return self._last_salted[2]


class _ScramNegotiation:
    def __init__(self, user: str, nonce: str, digest: str, salted: Callable[[bytes, int], bytes]) -> None:
        self._nonce = nonce.encode()
        self._first_bare = f"n={user},r={nonce}".encode()
        self._digest = digest
        self._salted = salted
        self._expected: bytes | None = None  # the server's signature, once the client has given its proof

    def first(self) -> bytes:
        return b"n,," + self._first_bare

    def respond(self, token: bytes) -> bytes | None:
        if self._expected is None:
            return self._prove(token)
        match = _FINAL_REPLY.fullmatch(token)
        if match is None or not hmac.compare_digest(_unbase64(match[1]), self._expected):
            raise SaslError("the server does not prove that it knows the password")
        return None

    def _prove(self, token: bytes) -> bytes:
        match = _FIRST_REPLY.fullmatch(token)
        if match is None or token.startswith(b"m="):
            raise SaslError("the server's first message is malformed")
        nonce, salt, iterations = match[1], _unbase64(match[2]), int(match[3])
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise SaslError("the server's nonce does not extend the client's")
        if iterations not in ITERATIONS or len(salt) > LONGEST_SALT:
            raise SaslError(f"the server asks for {iterations} rounds or a salt of {len(salt)} bytes")
        salted = self._salted(salt, iterations)
        client_key = self._hmac(salted, b"Client Key")
        without_proof = b"c=biws,r=" + nonce
        signed = b",".join((self._first_bare, token, without_proof))
        signature = self._hmac(hashlib.new(self._digest, client_key).digest(), signed)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        self._expected = self._hmac(self._hmac(salted, b"Server Key"), signed)
        return without_proof + b",p=" + base64.b64encode(proof)

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self._digest)


def _unbase64(text: bytes) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise SaslError("the server sends what is not base64") from None
