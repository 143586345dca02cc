"""TLS of the listeners of a broker: made of its configuration, and renewed while it runs."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from kcompat.errors import ConfigError
from kcompat.node.housekeeping import Chore

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from kcompat.config.broker import BrokerConfig, ConfigFeed
    from kcompat.config.listeners import Endpoint
    from kcompat.security.tls_server import TlsServer, Version
    from kcompat.security.tls_settings import TlsSettings

logger = logging.getLogger(__name__)

LOOK_EVERY_MS: Final = 1000
"""Time in ms between two checks of the files of the stores."""


def _servers(config: BrokerConfig) -> dict[str, TlsServer]:
    """Return the server side of TLS of each listener that has it, by its name. Raises ConfigError."""
    servers: dict[str, TlsServer] = {}
    for endpoint in config.listeners:
        if endpoint.uses_tls:
            from kcompat.security.tls_server import TlsServer  # late: it imports OpenSSL

            with _named(endpoint):
                settings = settings_of(config, endpoint)
                servers[endpoint.name] = TlsServer(settings, names_clients=not endpoint.uses_sasl)
    return servers


def settings_of(config: BrokerConfig, endpoint: Endpoint) -> TlsSettings:
    """Return the settings of TLS of a listener. Raises ConfigError.

    Where SASL logs clients in, only the listener's own `ssl.client.auth` counts (KIP-684).
    """
    from kcompat.security.tls_settings import read_settings

    prefixed = f"listener.name.{endpoint.name.lower()}.ssl.client.auth"
    overruled = endpoint.uses_sasl and prefixed not in config.given
    return read_settings(partial(config.get_at, endpoint.name), "none" if overruled else None)


class TlsListeners:
    """The listeners of a broker that have TLS. Their stores are renewed when the configuration or the files
    change.
    """

    def __init__(self, config: BrokerConfig) -> None:
        """Read the stores of all listeners. Raises ConfigError."""
        self.servers = _servers(config)
        self._refused: dict[str, Version] = {}  # the last version that could not be used, by listener

    def check(self, config: BrokerConfig, altered: Collection[str]) -> None:
        """Raise ConfigError if a listener cannot use its stores by a new configuration, in which these keys
        were set again.
        """
        for endpoint, server in self._having_tls(config):
            prefix = f"listener.name.{endpoint.name.lower()}.ssl."
            with _named(endpoint):
                settings = settings_of(config, endpoint)
                if settings != server.settings or any(name.startswith(prefix) for name in altered):
                    server.check(settings)

    def renew(self, config: BrokerConfig) -> None:
        """Read the stores that have changed. A store that cannot be used is logged once, and its last content
        stays in use.
        """
        from kcompat.security.tls_server import version_of

        for endpoint, server in self._having_tls(config):
            try:
                with _named(endpoint):
                    settings = settings_of(config, endpoint)
                    version = version_of(settings)
                    if version in (server.version, self._refused.get(endpoint.name)):
                        continue
                    self._refused[endpoint.name] = version
                    server.renew(settings)
            except ConfigError as error:
                logger.error("The key and trust stores stay as they are: %s", error)  # noqa: TRY400
            else:
                logger.info("Listener %s has new key and trust stores", endpoint.name)

    def follow(self, feed: ConfigFeed) -> None:
        """Check each new configuration before it becomes current, and renew the stores after that."""
        feed.guard(self.check)
        feed.subscribe(self.renew)

    def chores(self, feed: ConfigFeed) -> list[Chore]:
        """Return the periodic work: checking whether a file has changed."""
        look = Chore("key and trust stores", LOOK_EVERY_MS, lambda: self.renew(feed.current))
        return [look] if self.servers else []

    def _having_tls(self, config: BrokerConfig) -> list[tuple[Endpoint, TlsServer]]:
        return [
            (endpoint, self.servers[endpoint.name])
            for endpoint in config.listeners
            if endpoint.name in self.servers
        ]


@contextmanager
def _named(endpoint: Endpoint) -> Iterator[None]:
    """Add the name of the listener to a ConfigError."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"Listener {endpoint.name}: {error}") from None
