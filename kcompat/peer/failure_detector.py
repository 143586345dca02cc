"""Failure detector for brokers: reports that a process has ended long before its store session does.

One connection to each watched broker serves this purpose alone. When a process is killed, its running host
ends the connections and refuses new ones, which is reported at once. If the host is off, stopped or cut off,
the failure is not detected here; only the end of the session shows it. `reachability` keeps connections of
its own: every broker uses it, for the brokers of its cluster image, where one lost connection makes a broker
doubtful.

A refused connection is evidence and no proof: a broker that is about to stop refuses as well. So acting on a
false report must be safe. Replacing a leader is safe, since leaders and ISRs are conditional writes, and the
writes of a replaced leader cannot be acknowledged by its ISR.
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
"""Refused attempts in a row, some 50 ms apart, that count as a failure. A single refused attempt may fall
between two processes that use the port in turn.
"""


class Registered(Protocol):
    """A registered broker, by address and broker epoch."""

    @property
    def info(self) -> BrokerInfo:
        """Addresses of the broker."""

    @property
    def epoch(self) -> int:
        """Broker epoch of the registration."""


class FailureDetector:
    """Failure detector of the brokers given to `follow`."""

    def __init__(self, peers: Peers, detected: Callable[[Mapping[int, int]], object]) -> None:
        """Prepare the detector; it calls `detected` with the failed brokers, epochs by id, whenever one fails
        or turns out to be alive.
        """
        self._peers = peers
        self._detected = detected
        self._watched: dict[int, tuple[Registered, PeerClient]] = {}
        self._refused: dict[int, int] = {}  # refused attempts in a row, by broker
        self._gone: dict[int, int] = {}

    def follow(self, brokers: Mapping[int, Registered]) -> None:
        """Watch these brokers and no others, except this broker itself. A broker that has registered anew
        counts as another process.
        """
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
        """Stop watching all brokers."""
        self.follow({})

    def _lost(self, broker_id: int, epoch: int, fault: PeerFault) -> None:
        if fault is not PeerFault.REFUSED:
            self._refused[broker_id] = 0
            return
        self._refused[broker_id] += 1
        if self._refused[broker_id] == ENOUGH:
            self._gone[broker_id] = epoch
            self._detected(dict(self._gone))

    def _found(self, broker_id: int) -> None:
        self._refused[broker_id] = 0
        if self._gone.pop(broker_id, None) is not None:
            self._detected(dict(self._gone))
