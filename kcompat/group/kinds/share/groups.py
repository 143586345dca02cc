"""Requests to share groups that involve the share coordinator's state of their partitions.

The group coordinator stores the members of a group and which share partitions are initialized; the share
coordinator stores the position of each share partition. A change of both is first written by the group
coordinator, then made by the share coordinator, then recorded as made: a request that is repeated after a
failure in between completes the remaining steps.

Kafka's counterpart: the part of `GroupCoordinatorService` that uses the `Persister`.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from kcompat.group.errors import group_error
from kcompat.group.kinds.share import administration
from kcompat.group.kinds.share.group import ShareGroup
from kcompat.group.kinds.share.initialization import NO_TOPICS, Initialization, TopicPartitions
from kcompat.group.kinds.share.requests import (
    OffsetChange,
    ShareHeartbeatOutcome,
    StateDeletion,
)
from kcompat.group.kinds.table import SHARE_KIND
from kcompat.group.modern.group import find
from kcompat.group.modern.heartbeat import Refusal
from kcompat.promise import Promise, gather
from kcompat.protocol.constants import NO_EPOCH
from kcompat.protocol.errors import ErrorCode
from kcompat.share.batches import NO_OFFSET
from kcompat.share.key import SharePartitionKey
from kcompat.share.persister import NOT_COUNTED, Outcome, StateSummary

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from kcompat.clock import Clock
    from kcompat.cluster.image import ClusterImage
    from kcompat.group.base import GroupTransition, ShardGroups
    from kcompat.group.kinds.share.requests import Begin, ShareHeartbeatRequest
    from kcompat.group.modern.heartbeat import HeartbeatAnswer
    from kcompat.group.modern.kind import A, D, ModernKind, Q
    from kcompat.share.ends import End
    from kcompat.share.persister import Persister

logger = logging.getLogger(__name__)

T = TypeVar("T")

NO_LAG = -1
"""Lag of a share partition whose position is unknown."""

PartitionOutcomes = dict[tuple[str, int], Outcome]


class StartOffset(NamedTuple):
    """Start offset of a share partition, and the number of records from there on that are still to be
    delivered.
    """

    error: ErrorCode = ErrorCode.NONE
    start_offset: int = NO_OFFSET
    leader_epoch: int = 0
    lag: int = NO_LAG


StartOffsets = dict[tuple[str, int], StartOffset]


class AlteredOffsets(NamedTuple):
    """Error that refuses all alterations, or the outcome of each partition that exists."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    outcomes: PartitionOutcomes = {}


class DeletedOffsets(NamedTuple):
    """Error that refuses all deletions, or the outcome of each topic by name."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    outcomes: Mapping[str, Outcome] = {}


class Ends(Protocol):
    """Port to the end offsets of partitions."""

    def of(self, topic: str, index: int) -> Promise[End]:
        """Return a promise of the end offset of one partition."""


class Operations(Protocol):
    """Operations on groups, as `kcompat.group.coordinator.GroupCoordinator` offers them."""

    def write(
        self,
        group_id: str,
        decide: Callable[[GroupTransition], T | Promise[T]],
        failed: Callable[[ErrorCode], T],
    ) -> Promise[T]:
        """Run a writing operation on the shard of a group; `failed` converts an error of the runtime to a
        response.
        """

    def read(self, group_id: str, query: Callable[[ShardGroups], T], failed: Callable[[ErrorCode], T]) -> T:
        """Run a query on the shard of a group at once; `failed` converts an error of the runtime to a
        response.
        """

    def modern_heartbeat(self, kind: ModernKind[Q, A, D], request: Q) -> Promise[A]:
        """Handle the heartbeat of a member."""


class ShareGroups:
    """Share groups that one broker coordinates, with the state of their partitions."""

    def __init__(
        self,
        groups: Operations,
        persister: Persister,
        ends: Ends,
        image: Callable[[], ClusterImage],
        clock: Clock,
    ) -> None:
        self._groups = groups
        self._persister = persister
        self._ends = ends
        self._image = image
        self._clock = clock

    # --- members

    def heartbeat(self, request: ShareHeartbeatRequest) -> Promise[HeartbeatAnswer]:
        """Handle ShareGroupHeartbeat.

        New share partitions are initialized after the response, which does not depend on them.
        """
        heartbeat = self._groups.modern_heartbeat(SHARE_KIND, request)
        return heartbeat.map(partial(self._begin_after_heartbeat, request.group_id))

    def _begin_after_heartbeat(self, group_id: str, outcome: ShareHeartbeatOutcome) -> HeartbeatAnswer:
        if outcome.begin is not None:
            self._clock.call_later(0, partial(self._begin_for_members, group_id, outcome.begin))
        return outcome.answer

    def _begin_for_members(self, group_id: str, begin: Begin) -> None:
        """Initialize share partitions without a start offset, which is determined at the first fetch."""
        rows = {
            (topic_id, index): NO_OFFSET
            for topic_id, (_, indexes) in begin.topics.items()
            for index in sorted(indexes)
        }
        self._initialize(group_id, begin.state_epoch, rows).then(partial(self._note_begun, group_id, begin))

    def _note_begun(self, group_id: str, begin: Begin, outcomes: Mapping[tuple[bytes, int], Outcome]) -> None:
        """Record in the group that these share partitions are initialized; or that none is, if one failed."""
        note = administration.completed
        refused = next((outcome for outcome in outcomes.values() if outcome.error), None)
        if refused is not None:
            logger.warning("Share partitions of group %s were not initialized: %s", group_id, refused.message)
            note = administration.failed
        self._groups.write(
            group_id, lambda transition: note(transition, group_id, begin.topics), _ignore_failure
        )

    def _initialize(
        self, group_id: str, state_epoch: int, rows: Mapping[tuple[bytes, int], int]
    ) -> Promise[dict[tuple[bytes, int], Outcome]]:
        """Make the share coordinator initialize share partitions at these start offsets."""
        outcomes = [
            self._persister.initialize(SharePartitionKey(group_id, *of), state_epoch, offset)
            for of, offset in rows.items()
        ]
        return gather(outcomes).map(lambda found: dict(zip(rows, found, strict=True)))

    # --- administration

    def forget_before_deletion(self, group_id: str) -> Promise[ErrorCode]:
        """Make the share coordinator delete the state of all share partitions of a group that is about to be
        deleted.

        The result is NONE for a group that does not exist or is of another kind; its deletion reports the
        error.
        """
        return self._groups.write(
            group_id, lambda transition: administration.begin_to_delete(transition, group_id), _no_deletion
        ).flat_map(partial(self._forget_all, group_id))

    def _forget_all(self, group_id: str, deletion: StateDeletion) -> Promise[ErrorCode]:
        if deletion.error:
            return Promise.resolved(deletion.error)
        forgotten = self._forget(group_id, deletion.topics)
        return forgotten.map(lambda outcomes: _worst(outcomes.values()).error)

    def _forget(
        self, group_id: str, topics: Mapping[bytes, TopicPartitions]
    ) -> Promise[dict[bytes, Outcome]]:
        """Make the share coordinator delete share partitions' state; return the outcome of each topic."""
        outcomes = [
            self._forget_topic(group_id, topic_id, row.partitions) for topic_id, row in topics.items()
        ]
        return gather(outcomes).map(lambda found: dict(zip(topics, found, strict=True)))

    def _forget_topic(self, group_id: str, topic_id: bytes, indexes: Iterable[int]) -> Promise[Outcome]:
        keys = [SharePartitionKey(group_id, topic_id, index) for index in sorted(indexes)]
        return gather([self._persister.delete(key) for key in keys]).map(_worst)

    def alter_offsets(
        self, group_id: str, offsets: Mapping[str, Mapping[int, int]]
    ) -> Promise[AlteredOffsets]:
        """Handle AlterShareGroupOffsets: restart share partitions of a group without members at `offsets`, by
        topic and partition.

        A partition counts as altered only after the group has recorded it, too.
        """
        if not group_id:
            error = ErrorCode.INVALID_GROUP_ID
            return Promise.resolved(AlteredOffsets(error, error.message))
        return self._groups.write(
            group_id,
            lambda transition: administration.begin_to_alter(transition, group_id, offsets),
            _no_alteration,
        ).flat_map(partial(self._restart_partitions, group_id, offsets))

    def _restart_partitions(
        self, group_id: str, offsets: Mapping[str, Mapping[int, int]], change: OffsetChange
    ) -> Promise[AlteredOffsets]:
        begin = change.begin
        if begin is None:
            return Promise.resolved(AlteredOffsets(change.error, change.message))
        rows = {
            (topic_id, index): offsets[row.name][index]
            for topic_id, row in begin.topics.items()
            for index in sorted(row.partitions)
        }
        initialized = self._initialize(group_id, begin.state_epoch, rows)
        return initialized.flat_map(partial(self._note_altered, group_id, begin))

    def _note_altered(
        self, group_id: str, begin: Begin, outcomes: Mapping[tuple[bytes, int], Outcome]
    ) -> Promise[AlteredOffsets]:
        """Record the restarted share partitions in the group.

        If that fails, none counts as altered: for a member that joins now, they are initialized without an
        offset.
        """
        named = {(begin.topics[of].name, index): outcome for (of, index), outcome in outcomes.items()}
        topics: dict[bytes, TopicPartitions] = {}
        for topic_id, row in begin.topics.items():
            done = frozenset(index for index in row.partitions if not outcomes[topic_id, index].error)
            if done:
                topics[topic_id] = row._replace(partitions=done)
        if not topics:
            return Promise.resolved(AlteredOffsets(outcomes=named))

        def note(transition: GroupTransition) -> AlteredOffsets:
            administration.completed(transition, group_id, topics)
            return AlteredOffsets(outcomes=named)

        return self._groups.write(group_id, note, partial(_not_altered, named))

    def delete_offsets(self, group_id: str, names: Sequence[str]) -> Promise[DeletedOffsets]:
        """Handle DeleteShareGroupOffsets for whole topics of a group without members."""
        if not group_id:
            error = ErrorCode.INVALID_GROUP_ID
            return Promise.resolved(DeletedOffsets(error, error.message))
        return self._groups.write(
            group_id,
            lambda transition: administration.begin_to_delete_offsets(transition, group_id, names),
            _no_deletion,
        ).flat_map(partial(self._forget_topics, group_id))

    def _forget_topics(self, group_id: str, deletion: StateDeletion) -> Promise[DeletedOffsets]:
        if deletion.error:
            return Promise.resolved(DeletedOffsets(deletion.error, deletion.message))
        forgotten = self._forget(group_id, deletion.topics)
        return forgotten.flat_map(partial(self._note_deleted, group_id, deletion))

    def _note_deleted(
        self, group_id: str, deletion: StateDeletion, outcomes: Mapping[bytes, Outcome]
    ) -> Promise[DeletedOffsets]:
        """Record in the group that the share coordinator has deleted the state of these topics."""
        named = {deletion.topics[topic_id].name: outcome for topic_id, outcome in outcomes.items()}
        named.update((name, Outcome(*refused)) for name, refused in deletion.refused.items())
        answer = DeletedOffsets(outcomes=named)
        gone = [topic_id for topic_id, outcome in outcomes.items() if not outcome.error]
        if not gone:
            return Promise.resolved(answer)

        def note(transition: GroupTransition) -> DeletedOffsets:
            administration.complete_offset_deletion(transition, group_id, gone)
            return answer

        return self._groups.write(
            group_id, note, lambda error: DeletedOffsets(group_error(error), group_error(error).message)
        )

    # --- offsets

    def all_offsets(self, group_id: str) -> Promise[tuple[ErrorCode, StartOffsets]]:
        """Handle DescribeShareGroupOffsets for all initialized share partitions of a group."""
        failed: ErrorCode = ErrorCode.NONE

        def refused(error: ErrorCode) -> Initialization | None:
            nonlocal failed
            failed = error
            return None

        def begun(shard: ShardGroups) -> Initialization | None:
            group = find(shard, group_id, ShareGroup)
            return None if isinstance(group, Refusal) else group.committed_initialization

        state = self._groups.read(group_id, begun, refused)
        if failed:
            return Promise.resolved((failed, {}))
        topics = NO_TOPICS if state is None else state.initialized
        names = self._image().topic_names
        wanted = {
            names[topic_id]: sorted(row.partitions) for topic_id, row in topics.items() if topic_id in names
        }
        return self.offsets(group_id, wanted).map(lambda found: (ErrorCode.NONE, found))

    def offsets(self, group_id: str, wanted: Mapping[str, Collection[int]]) -> Promise[StartOffsets]:
        """Handle DescribeShareGroupOffsets for partitions of existing topics, initialized or not."""
        topics = self._image().topics
        rows = [(name, index) for name, indexes in wanted.items() for index in indexes]
        offsets = [self._offset(group_id, topics[name].topic_id, name, index) for name, index in rows]
        return gather(offsets).map(lambda found: dict(zip(rows, found, strict=True)))

    def _offset(self, group_id: str, topic_id: bytes, name: str, index: int) -> Promise[StartOffset]:
        summary = self._persister.summary(SharePartitionKey(group_id, topic_id, index), NO_EPOCH)
        return summary.flat_map(partial(self._start_offset, name, index))

    def _start_offset(self, name: str, index: int, summary: StateSummary) -> Promise[StartOffset]:
        if summary.error:
            return Promise.resolved(StartOffset())
        start = StartOffset(ErrorCode.NONE, summary.start_offset, summary.leader_epoch)
        delivered = summary.delivery_complete_count
        if summary.start_offset == NO_OFFSET or delivered == NOT_COUNTED:
            return Promise.resolved(start)
        return self._ends.of(name, index).map(
            lambda end: (
                StartOffset(end.error, 0, 0)
                if end.error
                else start._replace(lag=end.offset - summary.start_offset - delivered)
            )
        )


def _worst(outcomes: Iterable[Outcome]) -> Outcome:
    error = next((outcome.error for outcome in outcomes if outcome.error), ErrorCode.NONE)
    return Outcome(error, error.message if error else None)


def _ignore_failure(_error: ErrorCode) -> None:
    """Ignore a failed write: the next heartbeat requests the same change again."""


def _no_deletion(error: ErrorCode) -> StateDeletion:
    return StateDeletion(group_error(error), group_error(error).message)


def _no_alteration(error: ErrorCode) -> OffsetChange:
    return OffsetChange(group_error(error), group_error(error).message)


def _not_altered(named: PartitionOutcomes, error: ErrorCode) -> AlteredOffsets:
    failed = Outcome(group_error(error), group_error(error).message)
    return AlteredOffsets(outcomes={of: each if each.error else failed for of, each in named.items()})
