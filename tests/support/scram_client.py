"""A SCRAM client of its own: what it computes comes from the RFC alone, and it checks the server."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from dataclasses import dataclass


@dataclass
class ScramClient:
    """One login; every part of the messages can be replaced."""

    name: str
    password: str
    hash: str = "sha256"
    nonce: str = "rOprNGfwEbeRWgbNEkqO"
    header: str = "n,,"
    extensions: str = ""

    def first(self) -> bytes:
        """The first message."""
        name = self.name.replace("=", "=3D").replace(",", "=2C")
        self._bare = f"n={name},r={self.nonce}{self.extensions}"
        return f"{self.header}{self._bare}".encode()

    def final(self, server_first: bytes, **replaced: str) -> bytes:
        """The final message, with other values for `c`, `r` or `p` if they are given."""
        answer = dict(part.split("=", 1) for part in server_first.decode().split(","))
        assert answer["r"].startswith(self.nonce)
        self.salt, self.iterations = b64decode(answer["s"]), int(answer["i"])
        salted = hashlib.pbkdf2_hmac(self.hash, self.password.encode(), self.salt, self.iterations)
        client_key = hmac.digest(salted, b"Client Key", self.hash)
        channel = replaced.get("c", b64encode(self.header.encode()).decode())
        unproven = f"c={channel},r={replaced.get('r', answer['r'])}"
        exchanged = f"{self._bare},{server_first.decode()},{unproven}".encode()
        signature = hmac.digest(hashlib.new(self.hash, client_key).digest(), exchanged, self.hash)
        proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
        server_key = hmac.digest(salted, b"Server Key", self.hash)
        self.expected = b"v=" + b64encode(hmac.digest(server_key, exchanged, self.hash))
        return f"{unproven},p={replaced.get('p', b64encode(proof).decode())}".encode()
