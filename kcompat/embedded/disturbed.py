"""Simulated faults, as a broker inside this process offers them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcompat.embedded.disk import Disk
    from kcompat.embedded.fault import Fault
    from kcompat.embedded.faults import Faults
    from kcompat.embedded.thread import LoopThread
    from kcompat.instrumentation.faults.reports import Condition
    from kcompat.node.broker import BrokerNode
    from kcompat.node.cluster import ClusterNodes
    from kcompat.node.environment import Environment


class Disturbed(ABC):
    """Base class of a broker in which faults can be started; the modules for faults are imported at first
    use.
    """

    @abstractmethod
    def _running(self) -> tuple[LoopThread, BrokerNode]:
        """Return the thread and the running broker. Raises UsageError if it is not running."""

    @property
    def faults(self) -> Faults:
        """Faults of requests: errors, delays and lost answers. Raises UsageError if the broker is not
        running.
        """
        from kcompat.embedded.faults import Faults
        from kcompat.instrumentation.faults.requests import Reach

        self._running()

        def reach() -> tuple[LoopThread, Reach]:
            thread, node = self._running()
            return thread, Reach([node], self._cluster_nodes, node.hooks.broker_id)

        return Faults(reach)

    @property
    def _cluster_nodes(self) -> ClusterNodes | None:
        """The cluster that the broker is part of, or None."""
        return None

    @property
    def disk(self) -> Disk:
        """Simulated full, failed and slow disks. Raises UsageError if the broker is not running."""
        from kcompat.embedded.disk import Disk

        self._running()
        return Disk(self._running)


class Coordinating(ABC):
    """Base class of brokers in which faults of groups and transactions can be started."""

    @abstractmethod
    def _running(self) -> tuple[LoopThread, object]:
        """Return the thread of the brokers. Raises UsageError if they are not started."""

    @abstractmethod
    def _running_nodes(self) -> list[BrokerNode]:
        """Return the running brokers."""

    def condition(self, since: float = 0.0) -> Condition:
        """Return what explains unexpected answers of the brokers since a time, in seconds since the epoch:
        faults, including those that have ended, and settings. Raises UsageError if the brokers are not
        started.
        """
        from kcompat.instrumentation.faults.reports import condition_of

        thread = self._running()[0]
        return thread.do(lambda: condition_of(self._running_nodes(), since))

    def expire_member(self, group: str, member_id: str | None = None, *, client_id: str | None = None) -> str:
        """End the session of a member of a group now, as if it had sent nothing for its session timeout, and
        return its id. Its partitions go to the others; its client learns so at its next heartbeat.

        Without `member_id` it is the only member, or the only one with `client_id`.

        Raises:
            UsageError: there is no such member, or several, or the member waits in a rebalance.
        """
        from kcompat.instrumentation.faults.members import expire_member

        thread, nodes = self._running()[0], self._running_nodes()
        return thread.do(lambda: expire_member(nodes, group, member_id, client_id))

    def fence_producer(self, transactional_id: str) -> None:
        """Take a transactional id from its producer, as another producer does that begins to use it. An open
        transaction is aborted; the next request of the producer fails with PRODUCER_FENCED.

        Raises:
            UsageError: no producer uses the id.
        """
        from kcompat.instrumentation.faults.transactions import fence_producer

        thread, nodes = self._running()[0], self._running_nodes()
        thread.call(fence_producer(nodes, transactional_id))

    def hang_transaction(self, transactional_id: str) -> Fault:
        """Let the coordinator forget the open transaction of an id, so that it hangs in its partitions
        (KIP-664): read_committed consumers wait there until the fault ends, which aborts it.

        Raises:
            UsageError: no transaction of the id is open.
        """
        from kcompat.embedded.fault import Fault
        from kcompat.instrumentation.faults.transactions import hang_transaction

        thread, nodes = self._running()[0], self._running_nodes()
        return Fault(thread, thread.call(hang_transaction(nodes, transactional_id)))


def disturbable(environment: Environment) -> Environment:
    """Return an environment of brokers whose disks can fail."""
    from kcompat.instrumentation.disturbable_files import with_disturbable_files

    return with_disturbable_files(environment)
