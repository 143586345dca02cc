"""A consumer group with the methods of `Group`.

Kafka's counterpart: `ConsumerGroup`, as a `Group`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kcompat.group.kinds.consumer import sessions
from kcompat.group.kinds.consumer.members import ConsumerMembers
from kcompat.group.kinds.consumer.records import RECORDS
from kcompat.group.kinds.consumer.requests import DescribedConsumer, DescribedConsumerGroup
from kcompat.group.modern.offsets import need_be_no_member, reader
from kcompat.group.modern.topics import java_order
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcompat.group.base import GroupTransition, PartitionJudge
    from kcompat.group.coordinator_config import GroupCoordinatorConfig
    from kcompat.group.kinds.consumer.member import ConsumerMember
    from kcompat.group.requests import CommitRequest


class ConsumerGroup(ConsumerMembers):
    """A consumer group; `Group` documents the methods that all kinds have."""

    def loaded(self, transition: GroupTransition) -> None:
        for member in self.members.latest.values():
            sessions.watch(transition, self.group_id, member)
            sessions.watch_revocation(transition, self.group_id, member)

    # --- offsets

    def commit_error(self, request: CommitRequest) -> ErrorCode:
        """Return the error of a commit (`Group.commit_error`).

        Only members may commit, in their current epoch or an older one.
        """
        if need_be_no_member(request, is_empty=self.is_empty):
            return ErrorCode.NONE
        member = self.members.get(request.member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if not (request.is_transactional or request.knows_epochs or member.classic is not None):
            return ErrorCode.UNSUPPORTED_VERSION
        return ErrorCode.NONE if request.generation <= member.member_epoch else _stale(member)

    def judge_of_partitions(self, request: CommitRequest) -> PartitionJudge | None:
        """Return the check of partitions (`Group.judge_of_partitions`).

        In an older epoch a member may commit offsets of the partitions that it owned in that epoch
        (KIP-1251).
        """
        member = self.members.get(request.member_id)
        if member is None or request.generation == member.member_epoch:
            return None
        return partial(_late_error, member, request.generation)

    def fetch_error(self, member_id: str | None, member_epoch: int) -> ErrorCode:
        """Return the error for an OffsetFetch of a member (`Group.fetch_error`), checked against the
        committed state of the group.
        """
        member, error = reader(self.members, member_id, member_epoch)
        return error if member is None or member_epoch == member.member_epoch else _stale(member)

    # --- removal

    def write_tombstones(self, transition: GroupTransition) -> None:
        for member_id in self.members.latest:
            sessions.cancel(transition, self.group_id, member_id)
        RECORDS.write_all_tombstones(transition, self.group_id, self.members.latest, self.patterns.latest)

    # --- descriptions

    def described_as_kind(self, config: GroupCoordinatorConfig) -> DescribedConsumerGroup:
        """Describe the group as ConsumerGroupDescribe shows it."""
        header = self.committed_header
        return DescribedConsumerGroup(
            self.group_id,
            state=self.committed_state,
            group_epoch=header.group_epoch,
            assignment_epoch=header.assignment_epoch,
            assignor=self.committed_assignor() or config.consumer.assignors[0],
            members=tuple(
                _described(member, self.targets.committed(member_id) or {})
                for member_id, member in self.members.committed_items()
            ),
        )


def _described(member: ConsumerMember, target: Mapping[bytes, frozenset[int]]) -> DescribedConsumer:
    held: dict[bytes, list[int]] = {}
    for topic_id, partition in member.held():
        held.setdefault(topic_id, []).append(partition)
    return DescribedConsumer(
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topics=tuple(sorted(member.subscribed_topics, key=java_order)),
        subscribed_regex=member.subscribed_regex,
        assigned=_sorted(held),
        target=_sorted(target),
        is_classic=member.classic is not None,
    )


def _sorted(partitions: Mapping[bytes, Iterable[int]]) -> dict[bytes, tuple[int, ...]]:
    return {topic_id: tuple(sorted(indexes)) for topic_id, indexes in partitions.items()}


def _late_error(
    member: ConsumerMember, epoch: int, _topic: str, topic_id: bytes, partition: int
) -> ErrorCode:
    since = member.assignment_epoch(topic_id, partition)
    return ErrorCode.NONE if since is not None and epoch >= since else _stale(member)


def _stale(member: ConsumerMember) -> ErrorCode:
    return ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION
