"""Security for tests and development, as the settings that a properties file would have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from kcompat.config.errors import ConfigError
from kcompat.config.listeners import is_wildcard
from kcompat.config.table import mechanism_key
from kcompat.security.login_lines import PASSWORD_MECHANISMS, login_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kcompat.config.broker import BrokerConfig
    from kcompat.config.listeners import Endpoint
    from kcompat.security.development import Authority

BROKER_USER: Final = "kcompat-broker"
"""User as which brokers log in to each other; a super user if there is an authorizer."""

_COMMON_NAME: Final = "RULE:^CN=(.*)$/$1/"
"""Mapping rule by which a client with the certificate `CN=alice` is the user `alice`."""


def with_security(
    config: BrokerConfig,
    *,
    authority: Authority | None = None,
    users: Mapping[str, str] | None = None,
    has_authorizer: bool = False,
    has_peers: bool = False,
) -> BrokerConfig:
    """Return the configuration with TLS, SASL or both at its only listener, and with an authorizer.

    `authority` issues the broker's certificate. `users` are passwords by user, for PLAIN; credentials for
    SCRAM are not settings, but are stored in the metadata store. With `has_peers` brokers log in to each
    other, as a super user. Keys that `config` sets keep their values, apart from the listeners and
    `super.users`.

    Raises:
        ConfigError: `config` has several listeners, or one that is secured already.
    """
    defaults: dict[str, str] = {}
    changes: dict[str, str] = {}
    if has_authorizer:
        defaults["authorizer.class.name"] = "kafka.security.authorizer.AclAuthorizer"
        if has_peers:
            others = config.static.get("super.users", "")
            changes["super.users"] = ";".join(filter(None, (others, f"User:{BROKER_USER}")))
    if authority is not None or users is not None:
        protocol = "SSL" if users is None else "SASL_PLAINTEXT" if authority is None else "SASL_SSL"
        changes |= _listeners(config, protocol)
        if has_peers:
            defaults["security.inter.broker.protocol"] = protocol
        if users is not None:
            defaults |= _sasl(protocol, users, has_peers=has_peers)
        if authority is not None:
            defaults |= _tls(authority, set(_hosts(config)))
            # Clients that log in by SASL need no certificate.
            defaults["ssl.client.auth"] = "requested" if users is None else "none"
    return config.with_static({**defaults, **config.static, **changes})


def _listeners(config: BrokerConfig, protocol: str) -> dict[str, str]:
    """Return the settings of the listener, named after its new protocol."""
    if len(config.listeners) != 1 or config.listeners[0].name != "PLAINTEXT":
        raise ConfigError(
            f"{protocol} for tests takes the place of a single listener that is PLAINTEXT, but "
            f"listeners={config.string('listeners')}: leave listeners out, or set Kafka's keys for all of it"
        )
    endpoints = {"listeners": config.listeners[0]}
    if config.advertised:
        endpoints["advertised.listeners"] = config.advertised["PLAINTEXT"]
    return {key: str(replace(endpoint, name=protocol)) for key, endpoint in endpoints.items()}


def _hosts(config: BrokerConfig) -> Iterator[str]:
    """Yield the hosts at which clients may reach the broker; those of this machine need not be among them."""
    endpoints: list[Endpoint] = [*config.listeners, *config.advertised.values()]
    for endpoint in endpoints:
        import socket

        yield socket.gethostname() if is_wildcard(endpoint.host) else endpoint.host


def _tls(authority: Authority, hosts: set[str]) -> dict[str, str]:
    store = authority.broker(BROKER_USER, sorted(hosts))
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": store.key,
        "ssl.keystore.certificate.chain": store.certificate,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": authority.certificate,
        "ssl.principal.mapping.rules": _COMMON_NAME,
    }


def _sasl(protocol: str, users: Mapping[str, str], *, has_peers: bool) -> dict[str, str]:
    plain = {f"user_{name}": password for name, password in users.items()}
    settings = {"sasl.enabled.mechanisms": ",".join(PASSWORD_MECHANISMS)}
    if has_peers:
        settings["sasl.mechanism.inter.broker.protocol"] = "PLAIN"
        import secrets  # loads OpenSSL

        password = secrets.token_urlsafe()
        plain |= {"username": BROKER_USER, "password": password, f"user_{BROKER_USER}": password}
    for mechanism in PASSWORD_MECHANISMS:
        key = mechanism_key(protocol, mechanism, "sasl.jaas.config")
        settings[key] = login_line(mechanism, plain if mechanism == "PLAIN" else {})
    return settings
