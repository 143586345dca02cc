"""Queue of the requests for one broker, in which requests are folded: superseded ones are dropped, and
related ones merged.

Without folding, a broker that is slow to answer would later get every intermediate step, and one that never
answers would fill the memory. A request is folded into a waiting one of its kind, and may so overtake others.
That is safe if the others concern other partitions. A metadata update may also overtake roles: clients are
then sent to a leader a little before it leads, and try again. Roles do not overtake a metadata update, as it
may name the broker that they make a leader.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.cluster.control_requests import LeaderAndIsr, StopReplica, UpdateMetadata

if TYPE_CHECKING:
    from collections.abc import Collection

    from kcompat.cluster.control_requests import (
        Answered,
        AssignedPartition,
        ControlRequest,
        Reply,
        StoppedPartition,
        UpdatedPartition,
    )
    from kcompat.cluster.image import BrokerInfo
    from kcompat.topics import TopicPartition


class RequestQueue:
    """Requests to one broker, the next one first."""

    def __init__(self) -> None:
        self._waiting: list[QueuedRequest] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, control: ControlRequest, answered: Answered) -> None:
        """Fold a request into a waiting one, or append it."""
        for pending in reversed(self._waiting):
            if pending.take(control):
                pending.waiting.append(answered)
                return
            if not pending.lets_pass(control):
                break
        pending = _pending(control)
        pending.waiting.append(answered)
        self._waiting.append(pending)

    def pop(self) -> QueuedRequest:
        """Remove and return the next request."""
        return self._waiting.pop(0)

    def clear(self) -> None:
        """Drop all requests."""
        self._waiting.clear()


class QueuedRequest(ABC):
    """A waiting request, maybe folded from several."""

    def __init__(self) -> None:
        self.waiting: list[Answered] = []
        """Callbacks that get the reply."""

    @property
    @abstractmethod
    def control(self) -> ControlRequest:
        """The control request to send."""

    @property
    @abstractmethod
    def partitions(self) -> Collection[TopicPartition]:
        """Keys of the partitions that the request names."""

    @abstractmethod
    def take(self, control: ControlRequest) -> bool:
        """Merge a later request of the same kind into this one; return False if that would change the
        meaning.
        """

    def lets_pass(self, control: ControlRequest) -> bool:
        """Return whether a later request may overtake this one."""
        return isinstance(control, LeaderAndIsr | StopReplica | UpdateMetadata) and not any(
            (each.topic, each.index) in self.partitions for each in control.partitions
        )

    def answered(self, reply: Reply) -> None:
        """Call every callback with the reply."""
        for each in self.waiting:
            each(reply)


class _Roles(QueuedRequest):
    def __init__(self, control: LeaderAndIsr) -> None:
        super().__init__()
        self._first = control
        self._roles: dict[TopicPartition, AssignedPartition] = {}
        self._leaders: dict[int, BrokerInfo] = {}
        self.take(control)

    @property
    def partitions(self) -> Collection[TopicPartition]:
        return self._roles

    @property
    def control(self) -> LeaderAndIsr:
        return replace(
            self._first,
            partitions=list(self._roles.values()),
            live_leaders=list(self._leaders.values()),
        )

    def take(self, control: ControlRequest) -> bool:
        if not isinstance(control, LeaderAndIsr) or control.controller_epoch != self._first.controller_epoch:
            return False
        for each in control.partitions:
            known = self._roles.get((each.topic, each.index))
            if known is not None and known.topic_id != each.topic_id:
                return False
        for each in control.partitions:
            known = self._roles.pop((each.topic, each.index), None)
            is_new = each.is_new or (known is not None and known.is_new)
            self._roles[each.topic, each.index] = replace(each, is_new=is_new)
        self._leaders.update({leader.id: leader for leader in control.live_leaders})
        return True

    def lets_pass(self, control: ControlRequest) -> bool:
        return isinstance(control, UpdateMetadata) or super().lets_pass(control)


class _MetadataUpdate(QueuedRequest):
    def __init__(self, control: UpdateMetadata) -> None:
        super().__init__()
        self._last = control
        self._shown: dict[TopicPartition, UpdatedPartition] = {}
        self._topic_ids: dict[str, bytes] = {}
        self.take(control)

    @property
    def partitions(self) -> Collection[TopicPartition]:
        return self._shown

    @property
    def control(self) -> UpdateMetadata:
        return replace(self._last, partitions=list(self._shown.values()))

    def take(self, control: ControlRequest) -> bool:
        if not isinstance(control, UpdateMetadata) or control.controller_epoch != self._last.controller_epoch:
            return False
        ids = self._topic_ids
        if any(ids.get(each.topic, each.topic_id) != each.topic_id for each in control.partitions):
            return False  # another topic of the same name
        for each in control.partitions:
            ids[each.topic] = each.topic_id
            self._shown[each.topic, each.index] = each
        self._last = control
        return True

    def lets_pass(self, control: ControlRequest) -> bool:
        return isinstance(control, StopReplica) and super().lets_pass(control)


class _Stops(QueuedRequest):
    def __init__(self, control: StopReplica) -> None:
        super().__init__()
        self._first = control
        self._stopped: dict[TopicPartition, StoppedPartition] = {}
        self.take(control)

    @property
    def partitions(self) -> Collection[TopicPartition]:
        return self._stopped

    @property
    def control(self) -> StopReplica:
        return replace(self._first, partitions=list(self._stopped.values()))

    def take(self, control: ControlRequest) -> bool:
        if not isinstance(control, StopReplica) or control.controller_epoch != self._first.controller_epoch:
            return False
        for each in control.partitions:
            known = self._stopped.get((each.topic, each.index))
            delete = each.delete or (known is not None and known.delete)
            self._stopped[each.topic, each.index] = replace(each, delete=delete)
        return True


class _Alone(QueuedRequest):
    """A request that is neither merged with another one nor overtaken."""

    def __init__(self, control: ControlRequest) -> None:
        super().__init__()
        self._control = control

    @property
    def partitions(self) -> Collection[TopicPartition]:
        return ()

    @property
    def control(self) -> ControlRequest:
        return self._control

    def take(self, control: ControlRequest) -> bool:  # noqa: ARG002 - none of them
        return False

    def lets_pass(self, control: ControlRequest) -> bool:  # noqa: ARG002 - none of them
        return False


def _pending(control: ControlRequest) -> QueuedRequest:
    match control:
        case LeaderAndIsr():
            return _Roles(control)
        case UpdateMetadata():
            return _MetadataUpdate(control)
        case StopReplica():
            return _Stops(control)
    return _Alone(control)
