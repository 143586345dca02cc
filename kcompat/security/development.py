"""Certificates for tests and development, issued by an authority that exists only in memory.

Imported on first use, since it needs the extra `security`: importing it without that extra raises UsageError.
"""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.errors import UsageError

try:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
except ImportError as error:
    raise UsageError("certificates need the library cryptography: pip install 'kcompat[security]'") from error

if TYPE_CHECKING:
    from collections.abc import Iterable

THIS_MACHINE: Final = ("localhost", "127.0.0.1", "::1")
"""Names and addresses by which programs on the same machine reach a broker; each broker's certificate has
them.
"""

LIFETIME: Final = timedelta(days=3650)
HEAD_START: Final = timedelta(days=1)
"""Time before the present from which a new certificate is valid, for clients whose clocks are slow."""


class KeyStore(Struct, frozen=True):
    """A private key (PKCS8, not encrypted) and its certificate, both in PEM."""

    key: str
    certificate: str

    def __repr__(self) -> str:
        return f"{type(self).__name__}(certificate={self.certificate!r})"  # the key is a secret


class Authority:
    """A certificate authority that issues certificates for brokers and their clients."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        # A client that trusts several authorities tells them apart by their names.
        self._name = _name_of(f"kcompat development CA {x509.random_serial_number() % 10**12:012}")
        certificate = self._signed(
            self._name,
            self._key,
            (x509.BasicConstraints(ca=True, path_length=0), True),
            (_usage(signs_certificates=True), True),
            (x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), False),
        )
        self.certificate: Final = _pem_of(certificate)
        """Certificate of the authority in PEM, which clients and brokers trust."""

    def broker(self, name: str, hosts: Iterable[str]) -> KeyStore:
        """Return a new key and a certificate with the distinguished name `CN=name`, for this machine and
        `hosts`.
        """
        names = dict.fromkeys((*THIS_MACHINE, *hosts))
        # A broker shows its certificate to other brokers as their client.
        purposes = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        return self._issued(
            name,
            (x509.ExtendedKeyUsage(purposes), False),
            (x509.SubjectAlternativeName([_alternative_name(host) for host in names]), False),
        )

    def client(self, name: str) -> KeyStore:
        """Return a new key and a certificate with the distinguished name `CN=name`."""
        return self._issued(name, (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), False))

    def _issued(self, name: str, *extensions: tuple[x509.ExtensionType, bool]) -> KeyStore:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._signed(
            _name_of(name),
            key,
            (x509.BasicConstraints(ca=False, path_length=None), True),
            (_usage(signs_certificates=False), True),
            (x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), False),
            *extensions,
        )
        # Java's clients read keys in PKCS8 alone.
        text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return KeyStore(text.decode(), _pem_of(certificate))

    def _signed(
        self, name: x509.Name, key: ec.EllipticCurvePrivateKey, *extensions: tuple[x509.ExtensionType, bool]
    ) -> x509.Certificate:
        """Return a certificate for a key; `extensions` are pairs of an extension and whether it is
        critical.
        """
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - HEAD_START)
            .not_valid_after(now + LIFETIME)
        )
        for extension, is_critical in extensions:
            builder = builder.add_extension(extension, is_critical)
        return builder.sign(self._key, hashes.SHA256())


def _name_of(common_name: str) -> x509.Name:
    try:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    except ValueError as error:
        raise UsageError(f"{common_name!r} cannot be the name in a certificate: {error}") from error


def _alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        return x509.DNSName(host if host.isascii() else host.encode("idna").decode())
    except ValueError as error:
        raise UsageError(f"{host!r} cannot be a host in a certificate: {error}") from error


def _pem_of(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
