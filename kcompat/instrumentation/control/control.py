"""The objects on which the operations of the control port act."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Protocol

from kcompat.errors import UsageError
from kcompat.instrumentation.brokers import Brokers
from kcompat.instrumentation.faults.requests import Reach
from kcompat.node.broker import BrokerNode

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from kcompat.instrumentation.expectations import Expectation
    from kcompat.instrumentation.manual_time import ManualTime
    from kcompat.instrumentation.recording.recorder import Recorder
    from kcompat.instrumentation.snapshots import Snapshot, Snapshots
    from kcompat.node.cluster import ClusterNodes


class ControlledFault(Protocol):
    """A fault of any kind."""

    @property
    def is_in_force(self) -> bool:
        """Whether the fault can affect further requests or operations."""

    @property
    def struck(self) -> int:
        """Number of requests, operations or partitions that the fault has affected."""

    def end(self) -> Coroutine[object, object, None] | None:
        """End the fault, at once or by a coroutine."""


class Control:
    """The brokers behind a control port, and the faults, snapshots and expectations that its operations have
    created.

    All methods belong to the event loop of the brokers.
    """

    def __init__(
        self,
        served: BrokerNode | ClusterNodes,
        recorder: Recorder,
        time: ManualTime | None,
        snapshots: Snapshots | None,
    ) -> None:
        """Control a running broker or cluster. `recorder` has the requests of clients; `time` is None if the
        clock is that of the machine, and `snapshots` is None for a cluster.
        """
        self._snapshots = snapshots
        self._served = served
        self._numbers = count(1)
        self.brokers = Brokers(lambda: self.nodes)
        self.recorder = recorder
        self.time = time
        self.faults: dict[str, Sequence[ControlledFault]] = {}
        """The faults that were not deleted, by id; each of them on one broker or several."""
        self.kept_snapshots: dict[str, Snapshot] = {}
        """The snapshots that were not deleted, by id."""
        self.expectations: dict[str, Expectation] = {}
        """The expectations that were not awaited, by id."""

    @property
    def nodes(self) -> Sequence[BrokerNode]:
        """The running brokers."""
        return [self._served] if isinstance(self._served, BrokerNode) else self._served.by_trust()

    def node(self, broker_id: int) -> BrokerNode:
        """Return a running broker. Raises UsageError if there is none of this id."""
        nodes = {node.parts.cluster.broker_id: node for node in self.nodes}
        if broker_id not in nodes:
            running = ", ".join(map(str, sorted(nodes)))
            raise UsageError(f"no broker {broker_id} is running: use one of {running}")
        return nodes[broker_id]

    def chosen(self, broker_id: int | None) -> Sequence[BrokerNode]:
        """Return a running broker, or all of them for None. Raises UsageError."""
        return self.nodes if broker_id is None else [self.node(broker_id)]

    def reach(self, broker_id: int | None) -> Reach:
        """Return a running broker, or all of them for None, for faults of requests. Raises UsageError."""
        cluster = None if isinstance(self._served, BrokerNode) else self._served
        return Reach(self.chosen(broker_id), cluster, broker_id)

    @property
    def cluster(self) -> ClusterNodes:
        """The brokers as a cluster. Raises UsageError if there is one broker alone."""
        if isinstance(self._served, BrokerNode):
            raise UsageError("there is one broker alone: start several with --brokers")
        return self._served

    @property
    def snapshots(self) -> Snapshots:
        """The snapshots of the broker. Raises UsageError if there are several brokers."""
        if self._snapshots is None:
            raise UsageError("there are several brokers: snapshots are those of one broker alone")
        return self._snapshots

    def add_fault(self, faults: Sequence[ControlledFault]) -> str:
        """Store a fault, which is active on one broker or several, and return its id."""
        number = str(next(self._numbers))
        self.faults[number] = faults
        return number

    def keep(self, snapshot: Snapshot) -> str:
        """Store a snapshot, and return its id."""
        number = str(next(self._numbers))
        self.kept_snapshots[number] = snapshot
        return number

    def keep_expectation(self, expectation: Expectation) -> str:
        """Store an expectation until it is awaited, and return its id."""
        number = str(next(self._numbers))
        self.expectations[number] = expectation
        return number
