"""Sets of public keys (RFC 7517) that the signatures of tokens are checked with.

Only asymmetric keys are used: a signature by a symmetric key in a public document proves nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from jwt.exceptions import InvalidKeyError
from msgspec import Struct

from kcompat.security.bearer.refreshing import DocumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MOST_KEYS: Final = 100
"""Maximum number of keys of a set that are used; identity providers publish a few."""
LONGEST_KEY_ID: Final = 1000
RSA_BITS: Final = range(2048, 8193)
"""Sizes of RSA keys: smaller ones can be broken (Kafka refuses them as well), checking a signature with
larger ones takes the broker a long time.
"""

_RSA: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_BY_CURVE: Final = {
    "P-256": ("ES256",),
    "P-384": ("ES384",),
    "P-521": ("ES512",),
    "Ed25519": ("EdDSA",),
    "Ed448": ("EdDSA",),
}
_PUBLIC_PARTS: Final = frozenset({"kty", "crv", "n", "e", "x", "y"})


class VerificationKey(Struct, frozen=True):
    """A public key, and the signatures that it may be used for."""

    key_id: str | None
    algorithms: tuple[str, ...]
    key: Any
    """The key as an object of the library `cryptography`."""


class KeySet:
    """The usable keys of one document."""

    def __init__(self, keys: Iterable[VerificationKey] = ()) -> None:
        self.keys = tuple(keys)

    @classmethod
    def parse(cls, document: bytes) -> KeySet:
        """Return the keys of a document. Keys that are not for checking signatures are ignored.

        Raises:
            DocumentError: the document is not a key set.
        """
        try:
            rows = msgspec.json.decode(document, type=_Document).keys
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise DocumentError("the document is no key set in JSON") from error
        keys = (_key_of(row) for row in rows[:MOST_KEYS])
        return cls(key for key in keys if key is not None)

    def candidates(self, key_id: str | None, algorithm: str) -> list[VerificationKey]:
        """Return the keys that may have made a signature. A token without a key id may be signed by any
        key.
        """
        return [
            key for key in self.keys
            if algorithm in key.algorithms and (key_id is None or key.key_id == key_id)
        ]  # fmt: skip


class _Document(Struct):
    keys: list[dict[str, Any]]


def _key_of(row: Mapping[str, Any]) -> VerificationKey | None:
    """Return one key of a document, or None if the key is not for checking signatures."""
    operations = row.get("key_ops")
    if row.get("use", "sig") != "sig" or (isinstance(operations, list) and "verify" not in operations):
        return None
    public = {name: value for name, value in row.items() if name in _PUBLIC_PARTS}
    key_type, curve = row.get("kty"), row.get("crv")
    try:
        if key_type == "RSA":
            key: Any = RSAAlgorithm.from_jwk(public)
            algorithms: tuple[str, ...] = _RSA
            if not isinstance(key, RSAPublicKey) or key.key_size not in RSA_BITS:
                return None
        elif key_type in ("EC", "OKP") and isinstance(curve, str):
            key = (ECAlgorithm if key_type == "EC" else OKPAlgorithm).from_jwk(public)
            algorithms = _BY_CURVE.get(curve, ())
        else:
            return None
    except (InvalidKeyError, ValueError, TypeError):
        return None
    name, only = row.get("kid"), row.get("alg")
    if only is not None:
        algorithms = tuple(each for each in algorithms if each == only)
    return VerificationKey(name if isinstance(name, str) else None, algorithms, key)
