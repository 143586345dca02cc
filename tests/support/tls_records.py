"""A TLS client that encrypts records of its own making, which no TLS library would send."""

from __future__ import annotations

import hmac
import ssl
import struct
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

if TYPE_CHECKING:
    from collections.abc import Iterator
    from socket import socket

HASH: Final = "sha384"
SUITE: Final = "ECDHE+AESGCM:!AES128"
"""The suites of TLS 1.2 that have the hash; TLS 1.3 prefers one that has it."""
HANDSHAKE, APPLICATION_DATA = 0x16, 0x17


class RecordClient:
    """A client whose handshake the library makes, and whose later records a test makes. It blocks."""

    def __init__(self, sock: socket, context: ssl.SSLContext, version: ssl.TLSVersion) -> None:
        """Shake hands in this version of TLS."""
        self._socket = sock
        context.minimum_version = context.maximum_version = version
        context.set_ciphers(SUITE)
        with tempfile.NamedTemporaryFile("r") as secrets:
            context.keylog_filename = secrets.name
            self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname="localhost")
            received = bytearray()
            while not self._has_shaken_hands():
                data = sock.recv(65536)
                received += data
                self._incoming.write(data)
            lines = [line.split() for line in secrets if not line.startswith("#")]
        self._secrets = {
            label: (bytes.fromhex(given), bytes.fromhex(secret)) for label, given, secret in lines
        }
        self._server_random = bytes(received[11:43])  # behind two headers and a version

    def _has_shaken_hands(self) -> bool:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        finally:
            self._socket.sendall(self._outgoing.read())
        return True

    def read(self, size: int) -> bytes:
        """Receive and decrypt so many bytes."""
        read = b""
        while len(read) < size:
            try:
                read += self._tls.read(size - len(read))
            except ssl.SSLWantReadError:
                self._incoming.write(self._socket.recv(65536))
        return read

    def end(self) -> bytes:
        """The announcement of the end (`close_notify`)."""
        with suppress(ssl.SSLWantReadError):
            self._tls.unwrap()
        return self._outgoing.read()

    def key_updates(self, count: int, data: bytes = b"") -> bytes:
        """Messages KeyUpdate of TLS 1.3, each of which asks for one in return, then data with new keys."""
        return b"".join(self._key_updates(count, data))

    def _key_updates(self, count: int, data: bytes) -> Iterator[bytes]:
        _, secret = self._secrets["CLIENT_TRAFFIC_SECRET_0"]
        for _ in range(count):
            yield _first_record(secret, b"\x18\0\0\1\1", HANDSHAKE)
            secret = _expanded(secret, b"traffic upd", 48)
        if data:
            yield _first_record(secret, data, APPLICATION_DATA)

    def hellos(self, count: int) -> bytes:
        """Messages ClientHello of TLS 1.2, each of which asks for another handshake."""
        return b"".join(self._hellos(count))

    def _hellos(self, count: int) -> Iterator[bytes]:
        client_random, master = self._secrets["CLIENT_RANDOM"]
        keys = _pseudo_random(master, b"key expansion" + self._server_random + client_random, 72)
        cipher, salt = AESGCM(keys[:32]), keys[64:68]
        hello = b"\x01\0\0\x10" + bytes(16)
        for number in range(1, count + 1):  # the handshake has sent record 0
            nonce = struct.pack(">Q", number)
            known = nonce + struct.pack(">BHH", HANDSHAKE, 0x0303, len(hello))
            encrypted = nonce + cipher.encrypt(salt + nonce, hello, known)
            yield struct.pack(">BHH", HANDSHAKE, 0x0303, len(encrypted)) + encrypted


def _first_record(secret: bytes, content: bytes, kind: int) -> bytes:
    """The first record of TLS 1.3 with the keys of a secret."""
    key, nonce = _expanded(secret, b"key", 32), _expanded(secret, b"iv", 12)
    inner = content + bytes([kind])
    header = struct.pack(">BHH", APPLICATION_DATA, 0x0303, len(inner) + 16)
    return header + AESGCM(key).encrypt(nonce, inner, header)


def _expanded(secret: bytes, label: bytes, size: int) -> bytes:
    """`HKDF-Expand-Label` of TLS 1.3 for at most one block."""
    label = b"tls13 " + label
    info = struct.pack(">HB", size, len(label)) + label + b"\0"
    return hmac.digest(secret, info + b"\1", HASH)[:size]


def _pseudo_random(secret: bytes, seed: bytes, size: int) -> bytes:
    """`P_hash` of TLS 1.2."""
    made, step = b"", seed
    while len(made) < size:
        step = hmac.digest(secret, step, HASH)
        made += hmac.digest(secret, step + seed, HASH)
    return made[:size]
