"""The `ssl.*` settings of one listener as a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.errors import ConfigError
from kcompat.security.key_stores import Store

if TYPE_CHECKING:
    from collections.abc import Callable

PROTOCOLS: Final = ("TLSv1.2", "TLSv1.3")
"""The versions of TLS that a listener may speak, by Java's names, the lowest first."""


class TlsSettings(Struct, frozen=True):
    """The settings of TLS of one listener. Two values are equal if no setting differs."""

    key: Store
    trust: Store
    protocols: tuple[str, ...]
    """The versions of TLS, the lowest first; at least one."""
    cipher_suites: tuple[str, ...]
    """Java's names of the cipher suites; empty for OpenSSL's choice."""
    client_auth: str
    """`none`, `requested` or `required`: whether a client shows a certificate."""
    mapping_rules: str
    """Text of the rules that map the names in certificates to principals."""
    allow_dn_changes: bool
    allow_san_changes: bool


def read_settings(get: Callable[[str], object], client_auth: str | None = None) -> TlsSettings:
    """Return the settings of a listener; `get` returns the typed value of a key for that listener.

    `client_auth` replaces `ssl.client.auth`.

    Raises:
        ConfigError: a setting names something that Kafka supports and OpenSSL does not.
    """
    return TlsSettings(
        key=Store(
            "key",
            _text(get, "ssl.keystore.type").upper(),
            _optional(get, "ssl.keystore.location"),
            _optional(get, "ssl.keystore.password"),
            _optional(get, "ssl.key.password"),
            _optional(get, "ssl.keystore.key"),
            _optional(get, "ssl.keystore.certificate.chain"),
        ),
        trust=Store(
            "trust",
            _text(get, "ssl.truststore.type").upper(),
            _optional(get, "ssl.truststore.location"),
            _optional(get, "ssl.truststore.password"),
            inline_certificates=_optional(get, "ssl.truststore.certificates"),
        ),
        protocols=_protocols(get("ssl.enabled.protocols")),
        cipher_suites=_texts(get("ssl.cipher.suites")),
        client_auth=client_auth or _text(get, "ssl.client.auth"),
        mapping_rules=_text(get, "ssl.principal.mapping.rules"),
        allow_dn_changes=get("ssl.allow.dn.changes") is True,
        allow_san_changes=get("ssl.allow.san.changes") is True,
    )


def _protocols(value: object) -> tuple[str, ...]:
    named = _texts(value)
    for name in named:
        if name not in PROTOCOLS:
            raise ConfigError(
                f"ssl.enabled.protocols names {name}, and only {' and '.join(PROTOCOLS)} are supported"
            )
    if not named:
        raise ConfigError("ssl.enabled.protocols must name at least one version of TLS")
    return tuple(name for name in PROTOCOLS if name in named)


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()


def _text(get: Callable[[str], object], name: str) -> str:
    return str(get(name) or "")


def _optional(get: Callable[[str], object], name: str) -> str | None:
    return _text(get, name) or None
