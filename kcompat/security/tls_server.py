"""The server side of TLS at one listener: its current key and trust, and the principals of its clients."""

from __future__ import annotations

import os
import ssl
from typing import Final, Self, TypeAlias

from msgspec import Struct

from kcompat.errors import ConfigError
from kcompat.security.certificates import Certificate, DerError, read_certificate
from kcompat.security.distinguished_names import name_text
from kcompat.security.key_stores import read_key_store
from kcompat.security.principal_mapping import principal_name, read_rules
from kcompat.security.principals import ANONYMOUS, USER, Principal
from kcompat.security.tls_context import make_context
from kcompat.security.tls_settings import TlsSettings

SHOWN: Final = 200
"""Maximum number of characters of a client's name in an error text."""


Version: TypeAlias = tuple[TlsSettings, tuple[object, ...]]


def version_of(settings: TlsSettings) -> Version:
    """Return a value that changes when the settings change or a file of the stores is written."""
    return settings, _stamps(settings)


class _State(Struct, frozen=True):
    """Settings, and OpenSSL's context made of their stores."""

    settings: TlsSettings
    stamps: tuple[object, ...]
    certificate: Certificate
    context: ssl.SSLContext

    @classmethod
    def read(cls, settings: TlsSettings) -> Self:
        """Read the stores. Raises ConfigError."""
        read_rules(settings.mapping_rules)  # to see that they can be read
        stamps = _stamps(settings)  # before the files: a change meanwhile is seen later
        material = read_key_store(settings.key)
        context = make_context(settings, material)  # where OpenSSL reads the certificates
        try:
            certificate = read_certificate(ssl.PEM_cert_to_DER_cert(material.chain[0]))
        except ValueError:
            raise ConfigError("The certificate of the key store cannot be read") from None
        return cls(settings, stamps, certificate, context)


class CertificateError(Exception):
    """Error of a client certificate from which no principal can be derived; the message is a sentence."""


class TlsServer:
    """The server side of the connections of one listener. Its key and trust can be renewed."""

    def __init__(self, settings: TlsSettings, *, names_clients: bool) -> None:
        """Read the stores. With `names_clients` the certificate of a client names its principal; without it,
        SASL does.

        Raises:
            ConfigError: the settings are not valid, or a store cannot be read.
        """
        self._names_clients = names_clients
        self._state = _State.read(settings)

    @property
    def settings(self) -> TlsSettings:
        """The current settings."""
        return self._state.settings

    @property
    def version(self) -> Version:
        """The version of the stores in use; compare it with `version_of` to detect a change."""
        return self._state.settings, self._state.stamps

    def check(self, settings: TlsSettings) -> None:
        """Raise ConfigError if `renew` would."""
        self._next(settings)

    def renew(self, settings: TlsSettings) -> None:
        """Read the stores again. Connections whose handshake begins from now on use them.

        Raises:
            ConfigError: as for a new server, or the certificate has another name, which is not allowed. Then
                the key and the trusted certificates are unchanged.
        """
        self._state = self._next(settings)

    def _next(self, settings: TlsSettings) -> _State:
        old = self._state
        new = _State.read(settings)
        _check_names(old.certificate, new.certificate, settings)
        return new

    def wrap(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO) -> ssl.SSLObject:
        """Return the server's side of a connection, whose handshake has not begun. It reads received bytes
        from `incoming`, and writes bytes to send into `outgoing`.
        """
        return self._state.context.wrap_bio(incoming, outgoing, server_side=True)

    def principal(self, tls: ssl.SSLObject) -> Principal:
        """Return the principal of the client of a connection whose handshake is done.

        Raises:
            CertificateError: no rule applies to the name in the certificate.
        """
        certificate = tls.getpeercert(binary_form=True) if self._names_clients else None
        if certificate is None:
            return ANONYMOUS
        try:
            name = name_text(read_certificate(certificate).subject)
        except DerError as error:
            raise CertificateError(f"the client's certificate cannot be read: {error}") from None
        mapped = principal_name(read_rules(self.settings.mapping_rules), name)
        if mapped is None:
            raise CertificateError(f"no rule of ssl.principal.mapping.rules applies to {name[:SHOWN]!a}")
        return Principal(USER, mapped)


def _stamps(settings: TlsSettings) -> tuple[object, ...]:
    return tuple(_stamp(store.location) for store in (settings.key, settings.trust))


def _stamp(path: str | None) -> object:
    try:
        status = os.stat(path) if path else None  # noqa: PTH116 - the text of the setting is no Path yet
    except (OSError, ValueError):
        return None
    return status and (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)


def _check_names(old: Certificate, new: Certificate, settings: TlsSettings) -> None:
    """Refuse a certificate for another name (Kafka's `CertificateEntries.ensureCompatible`)."""
    if not settings.allow_dn_changes and old.subject != new.subject:
        raise ConfigError(
            "Keystore DistinguishedName does not match: "
            f"existing={{DN={name_text(old.subject)}}}, new={{DN={name_text(new.subject)}}}"
        )
    if not settings.allow_san_changes and not old.alternative_names <= new.alternative_names:
        raise ConfigError("Keystore SubjectAltNames do not match: the new ones lack some of the old")
