"""Clients to the other brokers of the cluster.

Addresses are those of the cluster image, by `inter.broker.listener.name`. Each purpose has a connection of
its own to each broker, as in Kafka: a waiting fetch delays no decision of the controller.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from kcompat.net.sizes import MIB
from kcompat.peer.client import OPEN, PeerClient, PeerSecurity, PeerSettings
from kcompat.peer.client_ids import client_id_of, client_id_of_fetcher
from kcompat.peer.releases import release

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from kcompat.clock import Clock
    from kcompat.cluster.image import BrokerInfo, ClusterImage
    from kcompat.config.broker import BrokerConfig, ConfigFeed
    from kcompat.net.outbound import Connect

ANSWER_OVERHEAD: Final = 16 * MIB
"""Bytes of a response allowed beside its records, for the names of many partitions."""


class ImageSource(Protocol):
    """The source of the current metadata image, and of its changes."""

    image: ClusterImage

    def subscribe(self, listener: Callable[[ClusterImage, ClusterImage], object]) -> None:
        """Call `listener(old, new)` after each replacement."""


class Peers:
    """The clients of one broker."""

    def __init__(
        self,
        broker_id: int,
        config: ConfigFeed,
        cluster: ImageSource,
        ports: tuple[Connect, Clock, Random],
        security: Callable[[], PeerSecurity] = lambda: OPEN,
    ) -> None:
        """Make no client yet. `security` is called at each attempt to connect."""
        self.broker_id = broker_id
        """Id of this broker."""
        self._config = config
        self._cluster = cluster
        self._ports = ports
        self._security = security
        self._clients: dict[tuple[int, str], PeerClient] = {}
        self._is_closed = False
        cluster.subscribe(self._image_changed)

    def of(self, broker_id: int, purpose: str = "general") -> PeerClient:
        """Return the client for one purpose to a broker. The client is closed when the broker leaves the
        cluster, so callers ask for it each time. While the broker is unknown, calls fail.
        """
        return self._client(broker_id, purpose, client_id_of(self.broker_id))

    def fetcher(self, broker_id: int, number: int) -> PeerClient:
        """Return the client of one of `num.replica.fetchers`, under the conditions of `of`."""
        client_id = client_id_of_fetcher(self.broker_id, number)
        return self._client(broker_id, f"fetcher {number}", client_id)

    def to(self, broker: BrokerInfo, purpose: str) -> PeerClient:
        """Return a new client to a broker at its given address, even if the image lacks the broker. The
        caller closes it.
        """
        name = f"broker {broker.id} ({purpose})"
        return PeerClient(
            name, client_id_of(self.broker_id), partial(self._endpoint, broker), self._settings, self._ports
        )

    def close(self) -> None:
        """Close all clients; later calls fail."""
        self._is_closed = True
        for client in list(
            self._clients.values()
        ):  # the failure of a call may make a caller call `of`, which adds a client
            client.close()
        self._clients.clear()

    def _client(self, broker_id: int, purpose: str, client_id: str) -> PeerClient:
        client = self._clients.get((broker_id, purpose))
        if client is None or client.is_closed:
            name = f"broker {broker_id} ({purpose})"
            address = partial(self._address, broker_id)
            client = PeerClient(name, client_id, address, self._settings, self._ports)
            self._clients[broker_id, purpose] = client
            if self._is_closed:
                client.close()
        return client

    def _address(self, broker_id: int) -> tuple[str, int] | None:
        return self._address_in(self._cluster.image, broker_id)

    def _address_in(self, image: ClusterImage, broker_id: int) -> tuple[str, int] | None:
        broker = image.brokers.get(broker_id)
        return None if broker is None else self._endpoint(broker)

    def _endpoint(self, broker: BrokerInfo) -> tuple[str, int] | None:
        return broker.endpoints.get(self._config.current.inter_broker_listener)

    def _settings(self) -> PeerSettings:
        return settings_of(self._config.current, self._security())

    def _image_changed(self, old: ClusterImage, new: ClusterImage) -> None:
        if old.brokers is new.brokers:
            return
        for (broker_id, purpose), client in list(self._clients.items()):
            if broker_id not in new.brokers:
                if broker_id in old.brokers:
                    del self._clients[broker_id, purpose]
                    client.close()
            elif self._address_in(old, broker_id) != self._address_in(new, broker_id):
                client.disconnect()


def settings_of(config: BrokerConfig, security: PeerSecurity = OPEN) -> PeerSettings:
    """Return the settings of connections to other brokers."""
    buffer = config.integer("replica.socket.receive.buffer.bytes")
    return PeerSettings(
        release=release(config.string("inter.broker.protocol.version")),
        setup_timeout_ms=config.integer("socket.connection.setup.timeout.ms"),
        setup_timeout_max_ms=config.integer("socket.connection.setup.timeout.max.ms"),
        # A fetch returns at least one batch, and no batch is larger than the largest request.
        max_frame=ANSWER_OVERHEAD
        + max(config.socket_request_max_bytes, config.integer("replica.fetch.response.max.bytes")),
        receive_buffer=buffer if "replica.socket.receive.buffer.bytes" in config.given else -1,
        security=security,
    )
