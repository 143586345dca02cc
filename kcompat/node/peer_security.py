"""The security of this broker's connections to other brokers: its login, key and trusted certificates, read
from the configuration.

The listener among brokers decides: its protocol, and the settings with its prefix. The credential of the
broker stands in the same JAAS line as the users of the listener.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kcompat.errors import ConfigError
from kcompat.node.tls import settings_of
from kcompat.peer.client import OPEN, PeerSecurity

if TYPE_CHECKING:
    from collections.abc import Callable
    from ssl import SSLContext

    from kcompat.config.broker import BrokerConfig
    from kcompat.config.listeners import Endpoint
    from kcompat.security.sasl.mechanism import ClientMechanism
    from kcompat.security.tls_server import Version

logger = logging.getLogger(__name__)


class PeerCredentials:
    """Login, key and trust of this broker for connections to other brokers."""

    def __init__(self, config: Callable[[], BrokerConfig], now_ms: Callable[[], int]) -> None:
        """Read the current configuration, which `config` returns.

        Raises:
            ConfigError: this broker cannot log in to others, or a store cannot be read; the message names the
                setting.
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
            self._mechanism = _mechanism(present, endpoint, now_ms)
        self._read_stores()

    def current(self) -> PeerSecurity:
        """Return the security of the next connection. Stores that have changed are read again; if one cannot
        be used, the fault is logged, and the last content stays in use.
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

    A broker that is alone may lack the settings for connections; brokers of a cluster have been checked by
    `insist_on_peer_security`.
    """
    try:
        return PeerCredentials(config, now_ms).current
    except ConfigError:
        return lambda: OPEN


def insist_on_peer_security(config: BrokerConfig) -> None:
    """Check that this broker has the settings for connections to the other brokers of its cluster.

    Raises:
        ConfigError: a setting is missing; the message names it.
    """
    PeerCredentials(lambda: config, lambda: 0)  # makes no token


def _mechanism(config: BrokerConfig, endpoint: Endpoint, now_ms: Callable[[], int]) -> ClientMechanism:
    """Return the mechanism by which this broker logs in to others. Raises ConfigError."""
    from kcompat.node.sasl_mechanisms import MECHANISMS  # late: only SASL listeners need it

    name = config.string("sasl.mechanism.inter.broker.protocol")
    enabled = config.get_at(endpoint.name, "sasl.enabled.mechanisms")
    assert isinstance(enabled, list)
    if name not in enabled or name not in MECHANISMS:
        raise ConfigError(
            f"sasl.mechanism.inter.broker.protocol={name} is not among the mechanisms of listener "
            f"{endpoint.name}, by which brokers log in to each other: set it to one of "
            f"{', '.join(each for each in enabled if each in MECHANISMS)}"
        )
    return MECHANISMS[name].client(config, endpoint.name, now_ms)
