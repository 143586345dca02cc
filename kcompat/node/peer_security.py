"""The security of this broker's connections to other brokers: its own login, key and trust, made of the
configuration.

The listener among brokers decides: its protocol, and the settings with its prefix. `CLIENTS` is the table of
the mechanisms; the credential of the broker stands in the same JAAS line as the users of the listener.
"""

from __future__ import annotations

import logging
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

from kcompat.config.table import mechanism_key
from kcompat.errors import ConfigError
from kcompat.node.logins import jaas_login
from kcompat.node.tls import settings_of
from kcompat.peer.client import OPEN, PeerSecurity
from kcompat.security.credentials import SCRAM_MECHANISMS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from ssl import SSLContext

    from kcompat.config.broker import BrokerConfig
    from kcompat.config.listeners import Endpoint
    from kcompat.security.credentials import ScramMechanism
    from kcompat.security.sasl.mechanism import ClientMechanism
    from kcompat.security.tls_server import Version

logger = logging.getLogger(__name__)


class Make(Protocol):
    """A function that makes the client's side of a mechanism."""

    def __call__(self, config: BrokerConfig, listener: str, now_ms: Callable[[], int], /) -> ClientMechanism:
        """Return the mechanism with the credential of this broker.

        Raises:
            ConfigError: the configuration has none.
        """


def _plain(config: BrokerConfig, listener: str, _now_ms: Callable[[], int]) -> ClientMechanism:
    from kcompat.security.sasl.plain import LOGIN_MODULE, PlainClient  # late: it loads OpenSSL

    return PlainClient(*_password_of(config, listener, "PLAIN", LOGIN_MODULE))


def _scram(mechanism: ScramMechanism) -> Make:
    def make(config: BrokerConfig, listener: str, _now_ms: Callable[[], int]) -> ClientMechanism:
        from kcompat.security.sasl.scram import LOGIN_MODULE  # late: it loads OpenSSL
        from kcompat.security.sasl.scram_client import ScramClient

        return ScramClient(mechanism, *_password_of(config, listener, mechanism.name, LOGIN_MODULE))

    return make


def _oauthbearer(config: BrokerConfig, listener: str, now_ms: Callable[[], int]) -> ClientMechanism:
    from kcompat.node.bearer_logins import own_tokens
    from kcompat.security.login_lines import BEARER_MODULE
    from kcompat.security.sasl.oauthbearer import OAuthBearerClient

    options = jaas_login(config, listener, "OAUTHBEARER", BEARER_MODULE).options
    return OAuthBearerClient(own_tokens(config, listener, options, now_ms))


CLIENTS: Final[Mapping[str, Make]] = MappingProxyType(
    {
        "PLAIN": _plain,
        **{mechanism.name: _scram(mechanism) for mechanism in SCRAM_MECHANISMS},
        "OAUTHBEARER": _oauthbearer,
    }
)
"""The mechanisms by which this broker can log in to others, by name."""


class PeerCredentials:
    """Login, key and trust of this broker for connections to other brokers."""

    def __init__(self, config: Callable[[], BrokerConfig], now_ms: Callable[[], int]) -> None:
        """Read what the present configuration says; `config` returns it.

        Raises:
            ConfigError: this broker cannot log in to others, or a store cannot be read, with what to set.
        """
        present = config()
        among_brokers = present.inter_broker_listener
        endpoint = next((each for each in present.listeners if each.name == among_brokers), None)
        self._config = config
        self._endpoint = endpoint
        self._tls: SSLContext | None = None
        self._version: Version | None = None  # the last version of the stores that was read
        self._mechanism: ClientMechanism | None = None
        if endpoint is not None and endpoint.uses_sasl:
            name = _mechanism_name(present, endpoint)
            self._mechanism = CLIENTS[name](present, endpoint.name, now_ms)
        self._read_stores()

    def current(self) -> PeerSecurity:
        """Return the security of the next connection. Stores that have changed are read again; if they cannot
        be used, that is logged, and the last ones stay.
        """
        try:
            self._read_stores()
        except ConfigError as error:
            logger.error("Connections to other brokers have key and trust as before: %s", error)  # noqa: TRY400
        return PeerSecurity(self._tls, self._mechanism)

    def _read_stores(self) -> None:
        if self._endpoint is None or not self._endpoint.uses_tls:
            return
        from kcompat.security.key_stores import read_key_store  # late: they load OpenSSL
        from kcompat.security.tls_context import make_client_context
        from kcompat.security.tls_server import version_of

        config = self._config()
        settings = settings_of(config, self._endpoint)
        version = version_of(settings)
        if version == self._version:
            return
        self._version = version
        key = read_key_store(settings.key) if settings.key.is_set else None
        checks_host = bool(config.get_at(self._endpoint.name, "ssl.endpoint.identification.algorithm"))
        self._tls = make_client_context(settings, key, checks_host=checks_host)


def peer_security(
    config: Callable[[], BrokerConfig], now_ms: Callable[[], int]
) -> Callable[[], PeerSecurity]:
    """Return the function that returns the security of the next connection to another broker.

    A broker that is alone may lack what it needs to connect to others; the others have been checked by
    `insist_on_peer_security`.
    """
    try:
        return PeerCredentials(config, now_ms).current
    except ConfigError:
        return lambda: OPEN


def insist_on_peer_security(config: BrokerConfig) -> None:
    """Check that this broker has what it needs to connect to the others of its cluster.

    Raises:
        ConfigError: it lacks something, with what to set.
    """
    PeerCredentials(lambda: config, lambda: 0)  # makes no token


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
