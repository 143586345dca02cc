"""A metadata store that insists on how the states of partitions are written.

Each transaction of them is guarded by the version of the controller's epoch, each one on condition of its own
version; epochs never fall, an epoch has one leader, and whoever is elected was in the ISR.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kcompat.cluster.znodes import (
    CONTROLLER_EPOCH,
    StoredPartitionState,
    decode_epoch,
    decode_partition_state,
    decode_topic,
    topic_path,
)
from kcompat.store.interface import ANY_VERSION, Check, Create, Delete, SetData
from kcompat.store.process_store import ProcessStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.cluster.znodes import TopicAssignment
    from kcompat.store.interface import Op, OpResult, SetAcl
    from kcompat.store.process_store import Journal
    from kcompat.store.tree import NodeChange

_STATE: Final = re.compile(r"/brokers/topics/([^/]+)/partitions/(\d+)/state")


class ViolationError(AssertionError):
    """Something that must always hold does not."""


class GuardedStore(ProcessStore):
    """`states` are the partitions' states as stored; `broken` says what was not to be written."""

    def __init__(self, journal: Journal, wall_ms: Callable[[], int]) -> None:
        super().__init__(journal, wall_ms)
        self.states: dict[tuple[str, int], StoredPartitionState] = {}
        self.broken: list[str] = []
        self.wrote: Callable[[str], object] = lambda _: None
        """Told of every new state."""
        self._epoch = 0
        self.subscribe(self._changed)

    def topics(self) -> dict[str, TopicAssignment]:
        """The topics that there are."""
        names = sorted(self.tree.get("/brokers/topics").children) if self.states else []
        return {name: decode_topic(self.tree.get(topic_path(name)).data or b"") for name in names}

    def children(self, path: str) -> list[str]:
        """The names below a node that may not be there."""
        node = self.tree.nodes.get(path)
        return [] if node is None else sorted(node.children)

    async def commit(self, session_id: int, ops: Sequence[Op | SetAcl]) -> list[OpResult]:
        states = [op for op in ops if _STATE.fullmatch(op.path)]
        guards = [op.version for op in ops if isinstance(op, Check | SetData) and op.path == CONTROLLER_EPOCH]
        if states and (not guards or ANY_VERSION in guards):
            self.broken.append(f"I9: no guard of the controller's epoch in {ops}")
        for op in states:
            if isinstance(op, SetData) and op.version == ANY_VERSION:
                self.broken.append(f"I9: a state written on no condition: {op}")
            assert isinstance(op, SetData | Create | Delete), op
        return await super().commit(session_id, ops)

    def _changed(self, change: NodeChange) -> None:
        path = change.event.path
        node = self.tree.nodes.get(path)
        if path == CONTROLLER_EPOCH and node is not None:
            epoch = decode_epoch(node.data or b"")
            self._insist(
                epoch >= self._epoch, f"I2: the controller's epoch fell from {self._epoch} to {epoch}"
            )
            self._epoch = epoch
        found = _STATE.fullmatch(path)
        if found is None:
            return
        place = (found[1], int(found[2]))
        if node is None:
            self.states.pop(place, None)
            return
        new = decode_partition_state(node.data or b"")
        old = self.states.get(place)
        self.states[place] = new
        if old is None or old != new:
            self.wrote(
                f"{place[0]}-{place[1]}: leader {new.leader} in epoch {new.leader_epoch}, "
                f"ISR {list(new.isr)}, by controller {new.controller_epoch}"
            )
        if old is not None:
            self._compare(f"{place[0]}-{place[1]}: {old} then {new}", old, new)

    def _compare(self, name: str, old: StoredPartitionState, new: StoredPartitionState) -> None:
        falls = new.leader_epoch < old.leader_epoch or new.controller_epoch < old.controller_epoch
        self._insist(not falls, f"I2: an epoch falls: {name}")
        same = new.leader_epoch == old.leader_epoch
        self._insist(not same or new.leader == old.leader, f"I1: two leaders in an epoch: {name}")
        self._insist(new.leader in (-1, old.leader, *old.isr), f"I7: not elected from the ISR: {name}")
        self._insist(new.leader in (-1, *new.isr), f"the leader is not in the ISR: {name}")
        self._insist(bool(new.isr), f"the ISR is empty: {name}")

    def _insist(self, holds: bool, broken: str) -> None:
        if not holds:
            self.broken.append(broken)
