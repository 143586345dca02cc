"""Sees that the process of a broker has ended, long before its session with the metadata store does.

A connection to each broker is kept for nothing else. The system of a host that lives ends the connections of
a process that is gone, and refuses new ones; both are told at once. Nothing is seen of a host that is off,
stopped or cut off, and there only the session counts.

It is evidence and no proof: a broker that is about to stop refuses as well. So it must be safe to act on it
wrongly. Deposing a leader is, since leaders and ISRs are conditional writes and a leader that is not one any
more cannot have its writes acknowledged by an ISR.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from kcompat.peer.errors import PeerFault

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.cluster.image import BrokerInfo
    from kcompat.peer.client import PeerClient
    from kcompat.peer.peers import Peers

ENOUGH: Final = 2
"""Attempts refused in a row, some 50 ms apart: one could meet a port between two processes that share it."""


class Registered(Protocol):
    """A broker that is registered."""

    @property
    def info(self) -> BrokerInfo:
        """Addresses of the broker."""

    @property
    def epoch(self) -> int:
        """Broker epoch of the registration."""


class FailureDetector:
    """Watches over brokers."""

    def __init__(self, peers: Peers, seen: Callable[[Mapping[int, int]], object]) -> None:
        """`seen` is told whose process has ended, whenever one more has, or one has not after all: the broker
        epochs by id, of all that are watched over.
        """
        self._peers = peers
        self._seen = seen
        self._watched: dict[int, tuple[Registered, PeerClient]] = {}
        self._refused: dict[int, int] = {}  # in a row
        self._gone: dict[int, int] = {}

    def follow(self, brokers: Mapping[int, Registered]) -> None:
        """Watch over these and no others, itself aside. One that has registered anew is another process."""
        for broker_id, (known, client) in list(self._watched.items()):
            if brokers.get(broker_id) != known:
                del self._watched[broker_id]
                self._gone.pop(broker_id, None)
                client.close()
        for broker_id, broker in brokers.items():
            if broker_id not in self._watched and broker_id != self._peers.broker_id:
                client = self._peers.to(broker.info, "failure detector")
                self._watched[broker_id] = broker, client
                self._refused[broker_id] = 0
                client.stay_connected(
                    partial(self._lost, broker_id, broker.epoch), partial(self._found, broker_id)
                )

    def close(self) -> None:
        """Watch over nobody."""
        self.follow({})

    def _lost(self, broker_id: int, epoch: int, fault: PeerFault) -> None:
        if fault is not PeerFault.REFUSED:
            self._refused[broker_id] = 0
            return
        self._refused[broker_id] += 1
        if self._refused[broker_id] == ENOUGH:
            self._gone[broker_id] = epoch
            self._seen(dict(self._gone))

    def _found(self, broker_id: int) -> None:
        self._refused[broker_id] = 0
        if self._gone.pop(broker_id, None) is not None:
            self._seen(dict(self._gone))
