"""The security of this broker's connections to other brokers: its own login, made of the configuration.

The listener among brokers decides: its protocol, and the settings with its prefix. `CLIENTS` is the table of
the mechanisms; the credential of the broker stands in the same JAAS line as the users of the listener.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

from kcompat.config.table import mechanism_key
from kcompat.errors import ConfigError
from kcompat.node.logins import jaas_login
from kcompat.peer.client import OPEN, PeerSecurity
from kcompat.security.credentials import SCRAM_MECHANISMS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.config.broker import BrokerConfig
    from kcompat.config.listeners import Endpoint
    from kcompat.security.credentials import ScramMechanism
    from kcompat.security.sasl.login import ClientMechanism


class Make(Protocol):
    """A function that makes the client's side of a mechanism."""

    def __call__(self, config: BrokerConfig, listener: str, now_ms: Callable[[], int], /) -> ClientMechanism:
        """Return the mechanism with the credential of this broker.

        Raises:
            ConfigError: the configuration has none.
        """


def _plain(config: BrokerConfig, listener: str, _now_ms: Callable[[], int]) -> ClientMechanism:
    from kcompat.security.sasl.plain import LOGIN_MODULE  # late: it loads OpenSSL
    from kcompat.security.sasl.plain_client import PlainClient

    return PlainClient(*_password_of(config, listener, "PLAIN", LOGIN_MODULE))


def _scram(mechanism: ScramMechanism) -> Make:
    def make(config: BrokerConfig, listener: str, _now_ms: Callable[[], int]) -> ClientMechanism:
        from kcompat.security.sasl.scram import LOGIN_MODULE  # late: it loads OpenSSL
        from kcompat.security.sasl.scram_client import ScramClient

        return ScramClient(mechanism, *_password_of(config, listener, mechanism.name, LOGIN_MODULE))

    return make


def _oauthbearer(config: BrokerConfig, listener: str, now_ms: Callable[[], int]) -> ClientMechanism:
    from kcompat.security.bearer.kafka_classes import LOGIN_MODULE
    from kcompat.security.bearer.unsecured_login import unsecured_tokens
    from kcompat.security.sasl.oauthbearer import OAUTHBEARER, OAuthBearerClient

    login = jaas_login(config, listener, OAUTHBEARER, LOGIN_MODULE)
    try:
        return OAuthBearerClient(unsecured_tokens(login.options, now_ms))
    except ValueError as error:
        raise ConfigError(f"{mechanism_key(listener, OAUTHBEARER, 'sasl.jaas.config')}: {error}") from None


CLIENTS: Final[Mapping[str, Make]] = MappingProxyType(
    {
        "PLAIN": _plain,
        **{mechanism.name: _scram(mechanism) for mechanism in SCRAM_MECHANISMS},
        "OAUTHBEARER": _oauthbearer,
    }
)
"""The mechanisms by which this broker can log in to others, by name."""


def peer_security(config: BrokerConfig, now_ms: Callable[[], int]) -> PeerSecurity:
    """Return the security of connections to other brokers.

    A broker that is alone may lack what it needs to log in to others; the others have been checked by
    `insist_on_peer_security`.
    """
    try:
        return _read(config, now_ms)
    except ConfigError:
        return OPEN


def insist_on_peer_security(config: BrokerConfig) -> None:
    """Check that this broker can log in to the others of its cluster.

    Raises:
        ConfigError: it cannot, with what to set.
    """
    _read(config, lambda: 0)  # makes no token


def _read(config: BrokerConfig, now_ms: Callable[[], int]) -> PeerSecurity:
    among_brokers = config.inter_broker_listener
    endpoint = next((each for each in config.listeners if each.name == among_brokers), None)
    if endpoint is None or not endpoint.uses_sasl:
        return OPEN
    return PeerSecurity(mechanism=CLIENTS[_mechanism_name(config, endpoint)](config, endpoint.name, now_ms))


def _mechanism_name(config: BrokerConfig, endpoint: Endpoint) -> str:
    name = config.string("sasl.mechanism.inter.broker.protocol")
    enabled = config.get_at(endpoint.name, "sasl.enabled.mechanisms")
    assert isinstance(enabled, list)
    if name not in enabled or name not in CLIENTS:
        raise ConfigError(
            f"sasl.mechanism.inter.broker.protocol={name} is not among the mechanisms of listener "
            f"{endpoint.name}, by which brokers log in to each other: set it to one of "
            f"{', '.join(each for each in enabled if each in CLIENTS)}"
        )
    return name


def _password_of(config: BrokerConfig, listener: str, mechanism: str, module: str) -> tuple[str, str]:
    """Return the name and the password of this broker."""
    options = jaas_login(config, listener, mechanism, module).options
    name, password = options.get("username"), options.get("password")
    if not name or not password:
        raise ConfigError(
            f"{mechanism_key(listener, mechanism, 'sasl.jaas.config')} lacks the name and the password by "
            "which this broker logs in to others: add username=... password=... to it"
        )
    return name, password
