"""The listeners of a broker: their bound addresses, their limits, and the addresses that it advertises."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.cluster.feature_levels import SUPPORTED
from kcompat.cluster.znodes import BrokerRegistration
from kcompat.config.listeners import THIS_MACHINE, is_loopback, is_wildcard
from kcompat.net.limits import Limits, ListenerLimits
from kcompat.net.server import Server
from kcompat.security.quotas.rates import QuotaWindow
from kcompat.wording import as_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kcompat.config.broker import BrokerConfig
    from kcompat.config.listeners import Endpoint
    from kcompat.net.listener import Bind, BoundListener
    from kcompat.node.environment import HostName
    from kcompat.node.lifetime import Lifetime
    from kcompat.node.parts import Parts
    from kcompat.security.authorizer import Authorizer
    from kcompat.security.tls_server import TlsServer

logger = logging.getLogger(__name__)

_RATE: Final = "max.connection.creation.rate"


class ServedListener(Struct, frozen=True):
    """A listener that accepts clients: its bound address, and the address that Metadata tells its clients."""

    name: str
    host: str
    port: int
    told: tuple[str, int] | None
    """Advertised host and port; None if each client is told the address that it connected to."""

    def __str__(self) -> str:
        """Return the addresses as a line of the log shows them."""
        bound = as_address(self.host or "*", self.port)
        told = "the address that they connect to" if self.told is None else as_address(*self.told)
        return f"listener {self.name} is bound to {bound}, and its clients are told {told}"


def open_listeners(bind: Bind, config: BrokerConfig, tls: Mapping[str, TlsServer]) -> Iterator[BoundListener]:
    """Bind to the addresses of `listeners`, and yield the listeners one by one; those named in `tls` are
    encrypted. Raises ListenerError.
    """
    for endpoint in config.listeners:
        yield bind(
            endpoint.name,
            endpoint.host,
            endpoint.port,
            backlog=config.listen_backlog,
            buffers=config.socket_buffers,
            protected=endpoint.name == config.inter_broker_listener and len(config.listeners) > 1,
            tls=tls.get(endpoint.name),
        )


def keep_open(
    bind: Bind, config: BrokerConfig, tls: Mapping[str, TlsServer], lifetime: Lifetime
) -> list[BoundListener]:
    """Return the open listeners; each is closed at the end of the broker. Raises ListenerError."""
    listeners: list[BoundListener] = []
    for listener in open_listeners(bind, config, tls):
        listeners.append(listener)
        lifetime.began(listener.close, listener.close)
    return listeners


def insist_on_free_ports(bind: Bind, config: BrokerConfig) -> None:
    """Check that every listener can be bound, by binding and closing it. Raises ListenerError."""
    for listener in open_listeners(bind, config, {}):
        listener.close()


async def host_for_all(config: BrokerConfig, host_name: HostName, *, is_alone: bool) -> str:
    """Return the host to advertise for a listener on every interface without `advertised.listeners`.

    This is the loopback host for a broker without a cluster, which needs no name: its clients are told the
    address that they connected to.
    """
    is_needed = any(is_wildcard(_told_of(config, listener).host) for listener in config.listeners)
    return await host_name() if is_needed and not is_alone else THIS_MACHINE


def registration_of(
    config: BrokerConfig, listeners: Sequence[BoundListener], host_for_all: str
) -> BrokerRegistration:
    """Return the registration of this broker: its advertised addresses, or else its bound ones, with
    `host_for_all` in place of every interface.
    """
    endpoints: dict[str, tuple[str, int]] = {}
    protocols: dict[str, str] = {}
    for endpoint, listener in zip(config.listeners, listeners, strict=True):
        told = _told_of(config, endpoint)
        host = host_for_all if is_wildcard(told.host) else told.host
        endpoints[endpoint.name] = host, told.port or listener.port
        protocols[endpoint.name] = endpoint.protocol
    return BrokerRegistration(endpoints, protocols, config.rack, SUPPORTED)


async def advertise(
    config: BrokerConfig, listeners: Sequence[BoundListener], host_name: HostName, *, is_alone: bool
) -> tuple[BrokerRegistration, list[ServedListener]]:
    """Return the registration for the cluster, and the listeners with the addresses for clients (see
    `api.cluster_view`).
    """
    told = registration_of(config, listeners, await host_for_all(config, host_name, is_alone=is_alone))
    served = []
    for listener in listeners:
        as_reached = is_alone and listener.name not in config.advertised
        address = None if as_reached else told.endpoints[listener.name]
        served.append(ServedListener(listener.name, listener.host, listener.port, address))
    return told, served


def _told_of(config: BrokerConfig, listener: Endpoint) -> Endpoint:
    return config.advertised.get(listener.name, listener)


def server_of(parts: Parts, listeners: Sequence[BoundListener]) -> Server:
    """Return the server of a broker's listeners. Its limits follow the configuration."""
    config, iteration = parts.config, parts.environment.iteration
    limits, address_limits = limits_of(config.current), parts.quotas.connection_rates
    gates, notices = parts.gates, parts.notices
    server = Server(listeners, parts.dispatcher, limits, iteration, gates, address_limits, notices)
    config.subscribe(lambda changed: setattr(server.hub, "limits", limits_of(changed)))
    return server


def warn_of_open_doors(config: BrokerConfig, authorizer: Authorizer) -> None:
    """Log a warning for each of the `open_doors` of a broker that allows everything."""
    for endpoint in open_doors(config) if authorizer.allows_everything else ():
        logger.warning("%s asks for no login: anyone who reaches it may do anything", endpoint)


def open_doors(config: BrokerConfig) -> list[Endpoint]:
    """Return the listeners beyond the loopback interface at which clients need no login."""
    return [
        endpoint
        for endpoint in config.listeners
        if not is_loopback(endpoint.host)
        and not endpoint.uses_sasl
        and not (endpoint.protocol == "SSL" and config.get_at(endpoint.name, "ssl.client.auth") == "required")
    ]


def limits_of(config: BrokerConfig) -> Limits:
    """Return the limits of connections that the broker's configuration sets."""
    return Limits(
        max_frame=config.socket_request_max_bytes,
        max_idle_s=config.connections_max_idle_ms / 1000,
        max_connections=config.max_connections,
        max_connections_per_ip=config.max_connections_per_ip,
        per_ip_overrides=config.ip_overrides,
        max_rate=config.integer(_RATE),
        by_listener={
            endpoint.name: ListenerLimits(
                config.integer_at(endpoint.name, "max.connections"),
                config.integer_at(endpoint.name, _RATE),
            )
            for endpoint in config.listeners
        },
        rate_window=QuotaWindow(
            config.integer("quota.window.num"), config.integer("quota.window.size.seconds") * 1000
        ),
    )


def address_of(listener: BoundListener) -> str:
    """Return HOST:PORT of a listener for clients of this machine."""
    return as_address(reachable_host(listener.host), listener.port)


def reachable_host(host: str) -> str:
    """Return an address at which clients of this machine reach a listener bound to `host`: the loopback host
    for a wildcard, which stands for every interface.
    """
    return THIS_MACHINE if is_wildcard(host) else host
