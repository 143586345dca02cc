"""SCRAM (RFC 5802, RFC 7677), the client's side: proof of a password, and of the server's knowledge of it.

Computing a salted password takes as many rounds as the server requests. So the number is limited, and the
result is cached, because brokers log in to each other with the same salt repeatedly.
"""

from __future__ import annotations

import hmac
import re
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Final

from kcompat.security.credentials import MAX_ITERATIONS, MIN_ITERATIONS
from kcompat.security.sasl.mechanism import SaslError
from kcompat.security.scram_keys import credential_of, random_text, salted_password

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.security.credentials import ScramMechanism

LONGEST_SALT: Final = 1024

_FIRST_REPLY: Final = re.compile(rb"r=([\x21-\x2b\x2d-\x7e]+),s=([A-Za-z0-9/+=]+),i=([0-9]{1,9})(?:,.*)?")
_FINAL_REPLY: Final = re.compile(rb"v=([A-Za-z0-9/+=]+)(?:,.*)?")


class ScramClient:
    """A `ClientMechanism` with one user's password."""

    def __init__(
        self,
        mechanism: ScramMechanism,
        user: str,
        password: str,
        make_nonce: Callable[[], str] = random_text,
        *,
        is_token: bool = False,
    ) -> None:
        """Prepare the mechanism. With `is_token` the user is the id of a delegation token, and the password
        its HMAC.
        """
        self.name = mechanism.name
        self.mechanism = mechanism
        self.user = user.replace("=", "=3D").replace(",", "=2C")
        self.make_nonce = make_nonce
        self.extensions = ",tokenauth=true" if is_token else ""
        self._password = password
        self._last_salted: tuple[bytes, int, bytes] | None = None

    def begin(self) -> ScramClientNegotiation:
        return ScramClientNegotiation(self)

    def salted(self, salt: bytes, iterations: int) -> bytes:
        """Return the salted password."""
        if self._last_salted is None or self._last_salted[:2] != (salt, iterations):
            result = salted_password(self.mechanism, self._password, salt, iterations)
            self._last_salted = salt, iterations, result
        return self._last_salted[2]


class ScramClientNegotiation:
    """The client's side of one login, a `ClientNegotiation`."""

    def __init__(self, client: ScramClient) -> None:
        nonce = client.make_nonce()
        self._client = client
        self._nonce = nonce.encode()
        self._bare = f"n={client.user},r={nonce}{client.extensions}".encode()
        self._expected: bytes | None = None  # the server's signature, once the client has given its proof

    def first(self) -> bytes:
        return b"n,," + self._bare

    def respond(self, token: bytes) -> bytes | None:
        if self._expected is None:
            return self._prove(token)
        match = _FINAL_REPLY.fullmatch(token)
        if match is None or not hmac.compare_digest(_decoded(match[1]), self._expected):
            raise SaslError("the server does not prove that it knows the password")
        return None

    def _prove(self, token: bytes) -> bytes:
        match = _FIRST_REPLY.fullmatch(token)
        if match is None:
            raise SaslError("the server's first message is malformed")
        nonce, salt, iterations = match[1], _decoded(match[2]), int(match[3])
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise SaslError("the server's nonce does not extend the client's")
        if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS or len(salt) > LONGEST_SALT:
            raise SaslError(f"the server asks for {iterations} rounds or a salt of {len(salt)} bytes")
        mechanism, salted = self._client.mechanism, self._client.salted(salt, iterations)
        keys = credential_of(mechanism, salt, salted, iterations)
        unproven = b"c=biws,r=" + nonce
        exchanged = b",".join((self._bare, token, unproven))
        client_key = hmac.digest(salted, b"Client Key", mechanism.hash)
        signature = hmac.digest(keys.stored_key, exchanged, mechanism.hash)
        proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
        self._expected = hmac.digest(keys.server_key, exchanged, mechanism.hash)
        return unproven + b",p=" + b64encode(proof)


def _decoded(text: bytes) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise SaslError("the server sends what is not base64") from None
