"""Keys of SCRAM credentials (RFC 5802), and made-up credentials of unknown users. Loads OpenSSL."""

from __future__ import annotations

import hmac
from hashlib import new, pbkdf2_hmac
from secrets import randbits
from typing import TYPE_CHECKING, Final

from kcompat.security.credentials import ScramCredential

if TYPE_CHECKING:
    from kcompat.security.credentials import ScramMechanism

_RANDOM_BITS: Final = 130
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


def random_text() -> str:
    """Return a random text of 130 bits, as Kafka makes its nonces and salts."""
    return _base_36(randbits(_RANDOM_BITS))


def salted_password(mechanism: ScramMechanism, password: str, salt: bytes, iterations: int) -> bytes:
    """Return the salted password. Like Kafka, this does not normalize the password (SASLprep)."""
    return pbkdf2_hmac(mechanism.hash, password.encode(), salt, iterations)


def credential_of(mechanism: ScramMechanism, salt: bytes, salted: bytes, iterations: int) -> ScramCredential:
    """Return the credential of a salted password."""
    client_key = hmac.digest(salted, b"Client Key", mechanism.hash)
    stored_key = new(mechanism.hash, client_key).digest()
    return ScramCredential(salt, stored_key, hmac.digest(salted, b"Server Key", mechanism.hash), iterations)


def credential_of_password(
    mechanism: ScramMechanism, password: str, iterations: int, salt: bytes | None = None
) -> ScramCredential:
    """Return a credential of a password, with a random salt unless one is given."""
    salt = random_text().encode() if salt is None else salt
    return credential_of(mechanism, salt, salted_password(mechanism, password, salt, iterations), iterations)


def token_hmac(secret_key: str, token_id: str) -> bytes:
    """Return the secret of a delegation token (KIP-48), whose base64 text is the password of a login."""
    return hmac.digest(secret_key.encode(), token_id.encode(), "sha512")


def decoy_salt(key: bytes, mechanism: ScramMechanism, name: str) -> bytes:
    """Return the salt of an unknown user or token. Equal for equal arguments, and like a salt made by Kafka.

    `key` is a secret of the cluster: clients that know it, or see another salt at another broker or after a
    restart, could tell unknown users from known ones.
    """
    digest = hmac.digest(key, f"{mechanism.name} {name}".encode(), "sha256")
    return _base_36(int.from_bytes(digest) >> (8 * len(digest) - _RANDOM_BITS)).encode()


def _base_36(number: int) -> str:
    digits = []
    while True:
        number, digit = divmod(number, 36)
        digits.append(_DIGITS[digit])
        if not number:
            return "".join(reversed(digits))
