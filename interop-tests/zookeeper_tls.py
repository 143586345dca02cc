"""A real ZooKeeper behind TLS, and the certificates for it."""

from __future__ import annotations

import socket
import ssl
import subprocess
from typing import TYPE_CHECKING

from support.eventually import limit_s
from support.ports import free_port
from zookeeper_kafka import ZooKeeper

if TYPE_CHECKING:
    from pathlib import Path


def openssl(*arguments: object) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=limit_s(60))


def make_authority(directory: Path, name: str) -> Path:
    """A certificate authority; its certificate."""
    certificate = directory / f"{name}.pem"
    key = directory / f"{name}.key"
    openssl(
        *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"),
        *("-keyout", key, "-out", certificate),
    )
    return certificate


def make_store(directory: Path, name: str, authority: Path) -> Path:
    """A key with its certificate for 127.0.0.1, in one file."""
    key, request, certificate = (directory / f"{name}.{kind}" for kind in ("key", "csr", "crt"))
    extensions = directory / f"{name}.ext"
    extensions.write_text("subjectAltName=IP:127.0.0.1\n")
    openssl(
        *("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", key, "-out", request)
    )
    openssl(
        *("x509", "-req", "-in", request, "-CA", authority, "-CAkey", authority.with_suffix(".key")),
        *("-CAcreateserial", "-days", "2", "-extfile", extensions, "-out", certificate),
    )
    store = directory / f"{name}.store.pem"
    store.write_text(key.read_text() + certificate.read_text())
    return store


class TlsZooKeeper(ZooKeeper):
    """One with a second port, for TLS; clients need a certificate, unless they may be `anonymous`."""

    def __init__(self, keystore: Path, truststore: Path, *, anonymous: bool = False) -> None:
        super().__init__()
        self.secure_port = free_port()
        self._lines = [
            f"secureClientPort={self.secure_port}\n",
            "secureClientPortAddress=127.0.0.1\n",
            "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\n",
            f"ssl.keyStore.location={keystore}\n",
            "ssl.keyStore.type=PEM\n",
            f"ssl.trustStore.location={truststore}\n",
            "ssl.trustStore.type=PEM\n",
            f"ssl.clientAuth={'none' if anonymous else 'need'}\n",
        ]

    def prepare(self) -> None:
        super().prepare()
        with (self.home / "zoo.cfg").open("a") as config:
            config.writelines(self._lines)

    def is_ready(self) -> bool:
        """Whether both ports answer. The first handshake takes long, as the server loads classes for it."""
        if not super().is_ready():
            return False
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        address = ("127.0.0.1", self.secure_port)
        try:
            with socket.create_connection(address, limit_s(2)) as connection:
                context.wrap_socket(connection).close()
        except ssl.SSLError:
            return True  # it answered that it wants a certificate
        except OSError:
            return False
        return True
