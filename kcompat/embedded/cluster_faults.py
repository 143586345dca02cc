"""Faults of the brokers of a cluster: leaders that are lost, and followers that fall behind."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Final, Self

from kcompat.embedded.disturbed import Coordinating
from kcompat.embedded.tracebacks import short_tracebacks
from kcompat.errors import UsageError
from kcompat.protocol.constants import NO_LEADER

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from kcompat.embedded.fault import Fault
    from kcompat.embedded.faults import Faults
    from kcompat.embedded.thread import LoopThread
    from kcompat.instrumentation.faults.leaders import LaggingFollowers
    from kcompat.node.cluster import ClusterNodes

TIMEOUT_S: Final = 60.0
"""Seconds within which a broker starts again, or an ISR changes."""


@short_tracebacks
class LostLeader:
    """A broker that was killed or isolated, until `remove` or the end of a `with` block."""

    def __init__(self, thread: LoopThread, nodes: ClusterNodes, broker_id: int, *, is_isolated: bool) -> None:
        self._thread = thread
        self._nodes = nodes
        self.broker_id = broker_id
        """Id of the broker that led the partition."""
        self._is_isolated = is_isolated
        thread.do(lambda: nodes.isolate(broker_id) if is_isolated else nodes.kill(broker_id))

    def remove(self) -> None:
        """Start the broker again, or reconnect all isolated ones. Does nothing if the cluster has stopped."""
        if not self._thread.is_here:
            return
        if self._is_isolated:
            self._thread.do(self._nodes.heal)
        elif self.broker_id not in self._nodes.running:
            self._thread.call(self._nodes.start(self.broker_id), TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<broker {self.broker_id} is {'isolated' if self._is_isolated else 'killed'}>"


class ClusterFaults(Coordinating):
    """Base class of a cluster whose leaders and followers can be disturbed."""

    @abstractmethod
    def _running(self) -> tuple[LoopThread, ClusterNodes]:
        """Return the thread and the brokers. Raises UsageError if the cluster is not started."""

    @property
    def faults(self) -> Faults:
        """Errors, delays and lost answers on purpose, at all brokers that run, which count together."""
        from kcompat.embedded.faults import Faults

        return Faults(lambda: (self._running()[0], self._running_nodes()))

    def lose_leader(self, topic: str, partition: int, *, isolate: bool = False) -> LostLeader:
        """Kill the broker that leads a partition, or isolate it from the others, until the end of the fault:
        then it starts again, or is reconnected.

        Raises:
            UsageError: the partition has no leader.
        """
        thread, nodes = self._running()
        leader = self._leader(thread, nodes, topic, partition)
        return LostLeader(thread, nodes, leader, is_isolated=isolate)

    def shrink_isr(self, topic: str, partition: int, to: int | Sequence[int] = 1) -> Fault:
        """Hold followers of a partition back so that they leave its ISR, and wait until they have left. They
        join it again after the end of the fault.

        `to` are the ids of the brokers that remain, the leader among them, or their number.

        Raises:
            UsageError: the partition has no leader, or `to` is not possible.
            TimeoutError: the ISR does not change within a minute.
        """
        from kcompat.embedded.fault import Fault

        thread, nodes = self._running()
        leader = self._leader(thread, nodes, topic, partition)
        return Fault(thread, thread.call(_shrink(nodes, leader, (topic, partition), to)))

    def _leader(self, thread: LoopThread, nodes: ClusterNodes, topic: str, partition: int) -> int:
        leader = thread.do(lambda: nodes.leader_of(topic, partition))
        if leader == NO_LEADER or leader not in nodes.running:
            raise UsageError(f"{topic}-{partition} has no leader: create the topic, and start its brokers")
        return leader


async def _shrink(
    nodes: ClusterNodes, leader: int, partition: tuple[str, int], to: int | Sequence[int]
) -> LaggingFollowers:
    """Hold followers back, and wait until the controller has the ISR without them."""
    import asyncio  # late: the program may run no event loop itself

    from kcompat.instrumentation.faults.leaders import LaggingFollowers, followers_to_hold_back

    found = nodes.running[leader].parts.storage.metadata.image.partition(*partition)
    assert found is not None
    held = followers_to_hold_back(found.replicas, found.isr, leader, to)
    fault = LaggingFollowers(nodes.running[leader], *partition, held)
    try:
        async with asyncio.timeout(TIMEOUT_S):
            await nodes.until(lambda: not set(held) & set(nodes.isr_of(*partition)))
    except BaseException:
        fault.end()
        raise
    return fault
