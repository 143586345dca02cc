"""Certificate authorities of tests, and the settings, servers and clients that use their certificates."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any, Final

import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509 import load_pem_x509_certificate
from msgspec.structs import replace

from kcompat.security.key_stores import Store
from kcompat.security.tls_server import TlsServer
from kcompat.security.tls_settings import TlsSettings

if TYPE_CHECKING:
    from pathlib import Path

HOSTS: Final = ("localhost", "127.0.0.1")
PASSWORD: Final = "opensesame"
NO_TRUST: Final = Store("trust", "JKS", None, None)


class Authority:
    """A certificate authority, with a certificate of a broker on this machine that it has issued."""

    def __init__(self, *hosts: str) -> None:
        """Issue the certificate of a broker for this machine, and for further hosts."""
        self.ca = trustme.CA()
        self.broker = self.ca.issue_cert(*HOSTS, *hosts)

    @property
    def pem(self) -> str:
        """The authority's own certificate."""
        return self.ca.cert_pem.bytes().decode()

    def key_store(self, leaf: trustme.LeafCert | None = None) -> Store:
        """A key store in PEM with the certificate of the broker, or another one."""
        leaf = leaf or self.broker
        chain = "".join(blob.bytes().decode() for blob in leaf.cert_chain_pems)
        key = leaf.private_key_pem.bytes().decode()
        return Store("key", "PEM", None, None, None, key, chain)

    def settings(self, **changes: Any) -> TlsSettings:
        """The settings of a listener that asks for no client certificates, with these changes."""
        plain = TlsSettings(
            self.key_store(), NO_TRUST, ("TLSv1.2", "TLSv1.3"), (), "none", "DEFAULT", False, False
        )
        return replace(plain, **changes)

    def mutual(self, client_auth: str = "required", **changes: Any) -> TlsSettings:
        """The settings of a listener that asks for certificates of this authority."""
        trust = Store("trust", "PEM", None, None, inline_certificates=self.pem)
        return self.settings(trust=trust, client_auth=client_auth, **changes)

    def server(self, settings: TlsSettings | None = None) -> TlsServer:
        """The server side of a listener."""
        return TlsServer(settings or self.settings(), names_clients=True)

    def client_context(self, leaf: trustme.LeafCert | None = None) -> ssl.SSLContext:
        """The context of a client that trusts this authority and shows a certificate, if it has one."""
        context = ssl.create_default_context(cadata=self.pem)
        if leaf is not None:
            leaf.configure_cert(context)
        return context

    def client(self, name: str = "alice", **options: Any) -> trustme.LeafCert:
        """A certificate of a client with this common name; `options` go to `trustme.CA.issue_cert`."""
        return self.ca.issue_cert(f"{name}@example.org", common_name=name, **options)

    def properties(self, directory: Path, **others: str) -> dict[str, str]:
        """The properties of a broker with a listener SSL, whose key store is a file in `directory`."""
        store = directory / "broker.pem"
        store.write_bytes(as_pem(self.broker))
        return {
            "listeners": "SSL://127.0.0.1:0",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(store),
            **others,
        }

    def trust_in(self, directory: Path) -> Path:
        """A file with the authority's certificate, for clients."""
        path = directory / "ca.pem"
        path.write_text(self.pem)
        return path


def as_pem(leaf: trustme.LeafCert, password: str | None = None) -> bytes:
    """The key of a certificate, encrypted if there is a password, and its chain, as one PEM text."""
    key = load_pem_private_key(leaf.private_key_pem.bytes(), None)
    secrecy = BestAvailableEncryption(password.encode()) if password else NoEncryption()
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, secrecy)
    return text + b"".join(blob.bytes() for blob in leaf.cert_chain_pems)


def as_pkcs12(leaf: trustme.LeafCert, password: str = PASSWORD) -> bytes:
    """The key and the chain of a certificate as a PKCS12 file."""
    first, *others = (load_pem_x509_certificate(blob.bytes()) for blob in leaf.cert_chain_pems)
    key = load_pem_private_key(leaf.private_key_pem.bytes(), None)
    secrecy = BestAvailableEncryption(password.encode())
    return pkcs12.serialize_key_and_certificates(b"broker", key, first, others, secrecy)  # type: ignore[arg-type]
