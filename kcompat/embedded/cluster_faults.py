"""Faults of the brokers of a cluster: lost leaders, and followers that fall behind."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Final

from kcompat.embedded.disturbed import Coordinating
from kcompat.embedded.fault import Removable
from kcompat.embedded.tracebacks import short_tracebacks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.embedded.fault import Fault
    from kcompat.embedded.faults import Faults
    from kcompat.embedded.thread import LoopThread
    from kcompat.instrumentation.faults import leaders
    from kcompat.node.cluster import ClusterNodes

TIMEOUT_S: Final = 60.0
"""Seconds within which a broker starts again."""


@short_tracebacks
class LostLeader(Removable):
    """A broker that was killed or isolated, until `remove` or the end of a `with` block."""

    def __init__(self, thread: LoopThread, lost: leaders.LeaderLoss) -> None:
        self._thread = thread
        self._lost = lost
        self.broker_id = lost.broker_id
        """Id of the broker that led the partition."""

    def remove(self) -> None:
        """Start the broker again, or reconnect all isolated ones. Does nothing if the cluster has stopped."""
        if self._thread.is_here:
            self._thread.call(self._lost.end(), TIMEOUT_S)

    def __repr__(self) -> str:
        return f"<{self._lost}>"


class ClusterFaults(Coordinating):
    """Base class of a cluster in which faults of leaders and followers can be started."""

    @abstractmethod
    def _running(self) -> tuple[LoopThread, ClusterNodes]:
        """Return the thread and the brokers. Raises UsageError if the cluster is not started."""

    @property
    def faults(self) -> Faults:
        """Faults of the requests to all brokers, with common counts. Raises UsageError if the cluster is not
        started.
        """
        from kcompat.embedded.faults import Faults
        from kcompat.instrumentation.faults.requests import Reach

        self._running()

        def reach() -> tuple[LoopThread, Reach]:
            thread, nodes = self._running()
            return thread, Reach(self._running_nodes(), nodes)

        return Faults(reach)

    def lose_leader(self, topic: str, partition: int, *, isolate: bool = False) -> LostLeader:
        """Kill the broker that leads a partition, or isolate it from the others, until the fault ends; then
        the broker starts again, or is reconnected.

        Raises:
            UsageError: the partition has no leader.
        """
        from kcompat.instrumentation.faults import leaders

        thread, nodes = self._running()
        return LostLeader(
            thread, thread.do(lambda: leaders.LeaderLoss(nodes, topic, partition, isolate=isolate))
        )

    def shrink_isr(self, topic: str, partition: int, to: int | Sequence[int] = 1) -> Fault:
        """Make followers of a partition fall behind, and wait until they have left its ISR. They join the ISR
        again after the fault has ended.

        `to` are the ids of the brokers that remain, the leader among them, or their number.

        Raises:
            UsageError: the partition has no leader, or `to` is not valid.
            TimeoutError: the ISR does not change within a minute.
        """
        from kcompat.embedded.fault import Fault
        from kcompat.instrumentation.faults.leaders import shrink_isr

        thread, nodes = self._running()
        return Fault(thread, thread.call(shrink_isr(nodes, topic, partition, to)))
