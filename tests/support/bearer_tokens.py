"""Bearer tokens and the key sets that their signatures are checked with."""

from __future__ import annotations

import base64
import json
from functools import cache
from typing import TYPE_CHECKING, Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

if TYPE_CHECKING:
    from collections.abc import Mapping


def encoded(data: bytes) -> str:
    """Return data as a part of a token."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unsecured_token(header: Mapping[str, Any] | None = None, signature: str = "", **claims: object) -> str:
    """Return an unsecured token with these claims."""
    parts = (header or {"alg": "none"}, claims)
    return ".".join([*(encoded(json.dumps(part).encode()) for part in parts), signature])


class TokenIssuer:
    """An identity provider: its private keys by key id, the tokens it signs and the key set it publishes."""

    def __init__(self) -> None:
        self.keys: dict[str, Any] = {"first": rsa_key(0)}

    def token(
        self,
        key_id: str | None = "first",
        algorithm: str = "RS256",
        headers: Mapping[str, Any] | None = None,
        **claims: object,
    ) -> str:
        """Return a token that the key of this id has signed; None takes the first key and names none."""
        named = {} if key_id is None else {"kid": key_id}
        key = self.keys[key_id or "first"]
        return jwt.encode(claims, key, algorithm, headers={**named, **(headers or {})})

    def key_set(self, **more: object) -> bytes:
        """Return the document with the public keys; `more` is added to each of them."""
        rows = [{"kid": name, **_public(key), **more} for name, key in self.keys.items()]
        return json.dumps({"keys": rows}).encode()


@cache
def rsa_key(number: int, bits: int = 2048) -> rsa.RSAPrivateKey:
    """Return an RSA key, the same one each time for a number."""
    return rsa.generate_private_key(65537, bits)


def elliptic_key() -> ec.EllipticCurvePrivateKey:
    """Return a new key of the curve P-256."""
    return ec.generate_private_key(ec.SECP256R1())


def _public(key: Any) -> dict[str, Any]:
    algorithm: Any = RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else ECAlgorithm
    row: dict[str, Any] = json.loads(algorithm.to_jwk(key.public_key()))
    row.pop("key_ops", None)
    return row
