"""Reachability of the brokers whose addresses this broker is about to give to clients.

For each broker that callers have asked about, one connection serves this purpose alone. When that broker's
process is killed, its host ends the connection at once and refuses another. The cluster image still names the
broker until the controller has detected the failure and decided, some tenths of a second later. In that time
the broker is in doubt, and an answer that would name it should wait.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from kcompat.peer.errors import PeerFault

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.clock import Clock
    from kcompat.peer.client import PeerClient
    from kcompat.peer.peers import Peers

DOUBT_MS: Final = 1000
"""Longest time in ms that a broker is in doubt. By then the controller has decided, or will decide later: a
Kafka controller waits for the end of the session."""


class Reachability:
    """Connections to the brokers passed to `is_doubtful`. `changed` is called when one of them is made."""

    def __init__(self, peers: Peers, clock: Clock, changed: Callable[[], object]) -> None:
        self._peers = peers
        self._clock = clock
        self._changed = changed
        self._probes: dict[int, _Probe] = {}

    def is_doubtful(self, broker_id: int) -> bool:
        """Return whether the process of the broker may have ended: it is not connected, and has not been for
        less than `DOUBT_MS`. The first call for a broker opens the connection to it.
        """
        probe = self._probe(broker_id)
        return (
            probe is not None
            and probe.lost_ms is not None
            and self._clock.now_ms() - probe.lost_ms < DOUBT_MS
        )

    def is_refused(self, broker_id: int) -> bool:
        """Return whether the broker's port refused the last connection."""
        probe = self._probe(broker_id)
        return probe is not None and probe.fault is PeerFault.REFUSED

    def _probe(self, broker_id: int) -> _Probe | None:
        """Return the probe of a broker; None for this broker itself."""
        if broker_id == self._peers.broker_id:
            return None
        client = self._peers.of(broker_id, "reachability")
        known = self._probes.get(broker_id)
        if known is not None and known.client is client:
            return known
        probe = self._probes[broker_id] = _Probe(client, self._clock.now_ms())
        client.stay_connected(partial(self._lost, probe), partial(self._found, probe))
        return probe

    def _lost(self, probe: _Probe, fault: PeerFault) -> None:
        probe.fault = fault
        if probe.lost_ms is None:
            probe.lost_ms = self._clock.now_ms()

    def _found(self, probe: _Probe) -> None:
        probe.lost_ms = probe.fault = None
        self._changed()


class _Probe:
    """The state of the connection of one client to one broker."""

    __slots__ = ("client", "fault", "lost_ms")

    def __init__(self, client: PeerClient, now_ms: int) -> None:
        self.client = client
        self.lost_ms: int | None = now_ms
        """Time of the loss in ms; None while there is a connection."""
        self.fault: PeerFault | None = None
        """Reason why the last attempt failed; None once one has succeeded."""
