"""Addresses of an embedded broker's listeners, for clients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.wording import as_address

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.embedded.thread import LoopThread
    from kcompat.node.broker import BrokerNode


class Listener(Struct, frozen=True):
    """A listener of a running broker, with the address for clients on this machine."""

    name: str
    """Name in Kafka's `listeners`, such as `PLAINTEXT` or `INTERNAL`."""
    host: str
    port: int

    @property
    def bootstrap_servers(self) -> str:
        """Host and port as clients take them for `bootstrap.servers`."""
        return as_address(self.host, self.port)


class Addresses(ABC):
    """Base class of one broker: the addresses of its listeners."""

    @abstractmethod
    def _running(self) -> tuple[LoopThread, BrokerNode]:
        """Return the thread and the running broker. Raises UsageError if it is not running."""

    @property
    def listeners(self) -> Mapping[str, Listener]:
        """The listeners by name, in the order of Kafka's `listeners`. Raises UsageError if the broker is not
        running.
        """
        from kcompat.node.listeners import reachable_host

        served = self._running()[1].served
        return MappingProxyType(
            {each.name: Listener(each.name, reachable_host(each.host), each.port) for each in served}
        )

    @property
    def host(self) -> str:
        """Host of the first listener. Raises UsageError if the broker is not running."""
        return self._first_listener.host

    @property
    def port(self) -> int:
        """Port of the first listener. Raises UsageError if the broker is not running."""
        return self._first_listener.port

    @property
    def bootstrap_servers(self) -> str:
        """Host and port of the first listener, as clients take them for `bootstrap.servers`. Raises
        UsageError if the broker is not running.
        """
        return self._first_listener.bootstrap_servers

    @property
    def _first_listener(self) -> Listener:
        return next(iter(self.listeners.values()))
