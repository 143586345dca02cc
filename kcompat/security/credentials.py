"""SCRAM mechanisms and credentials, in the text form in which Kafka stores them in the configs of a user.

This module needs no cryptography, so every broker can load it; `kcompat.security.scram_keys` makes the keys.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Final, Protocol, Self

from msgspec import Struct

if TYPE_CHECKING:
    from kcompat.security.principals import Principal

MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 16384


class ScramMechanism(Struct, frozen=True, gc=False):
    """A SCRAM mechanism: its registered name, its number in Kafka's protocol and its hash function."""

    name: str
    type: int
    hash: str


SCRAM_SHA_256: Final = ScramMechanism("SCRAM-SHA-256", 1, "sha256")
SCRAM_SHA_512: Final = ScramMechanism("SCRAM-SHA-512", 2, "sha512")
SCRAM_MECHANISMS: Final = (SCRAM_SHA_256, SCRAM_SHA_512)


class ScramCredential(Struct, frozen=True, gc=False):
    """Keys that a server keeps instead of a password, with the salt and the number of iterations that they
    were made with (RFC 5802).
    """

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        """Return a text that shows no secret."""
        return f"ScramCredential(iterations={self.iterations})"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the credential in a stored text. Raises ValueError, whose text contains no secret."""
        fields = dict(part.partition("=")[::2] for part in text.split(","))
        if fields.keys() != {"salt", "stored_key", "server_key", "iterations"}:
            raise ValueError("a SCRAM credential has other fields than Kafka's")
        try:
            salt, stored_key, server_key = (
                b64decode(fields[name], validate=True) for name in ("salt", "stored_key", "server_key")
            )
            return cls(salt, stored_key, server_key, int(fields["iterations"]))
        except ValueError:
            raise ValueError("a field of a SCRAM credential cannot be decoded") from None

    def format(self) -> str:
        """Return the text in which the credential is stored (Kafka's `ScramCredentialUtils`)."""
        salt, stored_key, server_key = (
            b64encode(value).decode() for value in (self.salt, self.stored_key, self.server_key)
        )
        return f"salt={salt},stored_key={stored_key},server_key={server_key},iterations={self.iterations}"


class ScramIdentity(Struct, frozen=True, gc=False):
    """A principal, the credential that proves it, and the time in ms since the epoch at which the credential
    ends (None: never).
    """

    principal: Principal
    credential: ScramCredential
    expires_at_ms: int | None = None


class CredentialSource(Protocol):
    """The port to the users that may log in by SCRAM."""

    def find(self, mechanism: ScramMechanism, name: str, /) -> ScramIdentity | None:
        """Return the user of this name; None if there is no credential for the mechanism."""

    def usual_iterations(self, mechanism: ScramMechanism, /) -> int:
        """Return the number of iterations that most users have, and that is sent for unknown users."""


class ScramTokens(Protocol):
    """The port to the delegation tokens, with which clients log in by SCRAM as the owner of the token."""

    def find(self, mechanism: ScramMechanism, token_id: str, /) -> ScramIdentity | None:
        """Return the owner of a delegation token; None if the token does not exist."""
