"""A streams group with the methods of `Group`.

Kafka's counterpart: `StreamsGroup`, as a `Group`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kcompat.group.kinds.streams import sessions
from kcompat.group.kinds.streams.describing import described_topology
from kcompat.group.kinds.streams.members import StreamsMembers
from kcompat.group.kinds.streams.records import RECORDS
from kcompat.group.kinds.streams.requests import DescribedStreamsGroup, DescribedStreamsMember
from kcompat.group.kinds.streams.tasks import NO_TASKS
from kcompat.group.modern.offsets import need_be_no_member, reader
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.group.base import GroupTransition, PartitionJudge
    from kcompat.group.coordinator_config import GroupCoordinatorConfig
    from kcompat.group.kinds.streams.member import StreamsMember
    from kcompat.group.kinds.streams.tasks import Tasks
    from kcompat.group.kinds.streams.topology import Topology
    from kcompat.group.requests import CommitRequest


class StreamsGroup(StreamsMembers):
    """A streams group; `Group` documents the methods that all kinds have."""

    def loaded(self, transition: GroupTransition) -> None:
        for member in self.members.latest.values():
            sessions.keep_alive(transition, self.group_id, member.member_id)
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
        if not (request.is_transactional or request.knows_epochs):
            return ErrorCode.UNSUPPORTED_VERSION
        if request.generation > member.member_epoch:
            return ErrorCode.STALE_MEMBER_EPOCH
        return ErrorCode.NONE

    def judge_of_partitions(self, request: CommitRequest) -> PartitionJudge | None:
        """Return the check of partitions (`Group.judge_of_partitions`).

        In an older epoch a member may commit offsets of the partitions that its active tasks read in that
        epoch (KIP-1251).
        """
        member = self.members.get(request.member_id)
        if member is None or request.generation == member.member_epoch:
            return None
        return partial(_late_error, member, self.topology, request.generation)

    def fetch_error(self, member_id: str | None, member_epoch: int) -> ErrorCode:
        """Return the error for an OffsetFetch of a member (`Group.fetch_error`), checked against the
        committed state of the group.
        """
        member, error = reader(self.members, member_id, member_epoch)
        return (
            error if member is None or member_epoch == member.member_epoch else ErrorCode.STALE_MEMBER_EPOCH
        )

    def subscribes_to(self, topic: str) -> bool:
        """Return whether tasks read a topic (`Group.subscribes_to`); changelog topics are not read
        by tasks.
        """
        topology = self.topology
        return not self.is_empty and topology is not None and topology.reader_of(topic) is not None

    # --- removal

    def write_tombstones(self, transition: GroupTransition) -> None:
        sessions.cancel_all(transition, self.group_id, self.members.latest)
        RECORDS.write_all_tombstones(transition, self.group_id, self.members.latest)

    # --- descriptions

    def described_as_kind(self, _config: GroupCoordinatorConfig) -> DescribedStreamsGroup:
        """Describe the group as StreamsGroupDescribe shows it."""
        header = self.committed_header
        return DescribedStreamsGroup(
            self.group_id,
            state=self.committed_state,
            group_epoch=header.group_epoch,
            assignment_epoch=header.assignment_epoch,
            topology=described_topology(self.committed_topology, self.configured),
            members=tuple(
                _described(member, self.targets.committed(member_id) or NO_TASKS)
                for member_id, member in self.members.committed_items()
            ),
        )


def _late_error(
    member: StreamsMember, topology: Topology | None, epoch: int, topic: str, _topic_id: bytes, partition: int
) -> ErrorCode:
    reader = None if topology is None else topology.reader_of(topic)
    since = None if reader is None else member.assignment_epoch(reader, partition)
    return ErrorCode.NONE if since is not None and epoch >= since else ErrorCode.STALE_MEMBER_EPOCH


def _described(member: StreamsMember, target: Tasks) -> DescribedStreamsMember:
    return DescribedStreamsMember(
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        endpoint=member.endpoint,
        client_tags=member.client_tags,
        assigned=member.assigned,
        target=target,
    )
