"""A member of a classic consumer group: joins, gets partitions, renews its session, commits and leaves.

Kafka's counterparts: `AbstractCoordinator` and `ConsumerCoordinator` with eager rebalances.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kcompat.admin.connection import Versioned
from kcompat.admin.errors import JavaError, error_of_code
from kcompat.admin.log_lines import log_line
from kcompat.commands.console.assignment import (
    RANGE,
    assign_ranges,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.join_group import JoinGroupRequest
from kcompat.protocol.messages.leave_group import LeaveGroupRequest
from kcompat.protocol.messages.offset_commit import OffsetCommitRequest
from kcompat.protocol.messages.sync_group import SyncGroupRequest
from kcompat.topics import by_topic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.admin.client import AdminClient
    from kcompat.commands.console.topic_view import TopicView
    from kcompat.commands.offsets import Offset
    from kcompat.protocol.message import Message
    from kcompat.protocol.messages.join_group import JoinGroupResponse
    from kcompat.topics import TopicPartition

_CONSUMER: Final = "consumer"
_GROUP: Final = 0
_NO_GENERATION: Final = -1
_PATIENCE_MS: Final = 5000
"""Milliseconds that a join may take beyond the rebalance timeout, as in `AbstractCoordinator`."""
_LAST_MS: Final = 5000
"""Longest time in ms of a commit or of leaving the group, which also happen when the command ends."""
_LAST_COMMIT_WITH_NAMES: Final = 9
_LOGGER: Final = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
_REJOIN: Final = (
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)
_FORGET: Final = (ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID)
"""Errors after which a member joins as a new one."""


class GroupSettings(msgspec.Struct, frozen=True):
    """Settings of a member; times are in ms."""

    group_id: str
    instance_id: str | None
    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_poll_interval_ms: int
    client_id: str


class Membership:
    """One member of a classic group. The owner has to call `leave`."""

    def __init__(self, admin: AdminClient, topics: TopicView, settings: GroupSettings) -> None:
        self._admin = admin
        self._topics = topics
        self._settings = settings
        self._member_id = ""
        self._generation = _NO_GENERATION
        self._known: dict[str, int] = {}
        self._next_heartbeat = 0.0

    @property
    def must_join(self) -> bool:
        """Whether the member has no assignment, or its topics or their numbers of partitions have changed."""
        return self._generation == _NO_GENERATION or self._known != self._sizes()

    def _sizes(self) -> dict[str, int]:
        return {topic: len(leaders) for topic, leaders in self._topics.leaders.items()}

    def join(self) -> list[TopicPartition]:
        """Join the group, or join again, and return the partitions that this member has now.

        Raises:
            JavaError: the group refuses the member.
        """
        while True:
            self._generation = _NO_GENERATION
            self._topics.refresh()
            self._known = self._sizes()
            try:
                joined = self._join()
                if joined is not None:
                    return self._sync(joined)
            except JavaError as error:
                if error.code not in _REJOIN:
                    raise
                self._note(error.code)

    def _join(self) -> JoinGroupResponse | None:
        """Send a join request; return None if the group has only assigned a member id."""
        settings = self._settings
        protocol = JoinGroupRequest.JoinGroupRequestProtocol(RANGE, encode_subscription(self._known))
        request = JoinGroupRequest(
            settings.group_id,
            settings.session_timeout_ms,
            settings.max_poll_interval_ms,
            self._member_id,
            settings.instance_id,
            _CONSUMER,
            [protocol],
        )
        timeout_ms = settings.max_poll_interval_ms + _PATIENCE_MS
        response: JoinGroupResponse = self._ask(request, "joinGroup", timeout_ms)
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self._member_id = response.member_id
            return None
        if response.error_code:
            raise error_of_code(response.error_code)
        self._member_id = response.member_id
        return response

    def _sync(self, joined: JoinGroupResponse) -> list[TopicPartition]:
        """Get the assignment of this generation; as the leader, compute the assignments of all members."""
        settings = self._settings
        assignments = self._assign(joined) if joined.leader == self._member_id else []
        request = SyncGroupRequest(
            settings.group_id,
            joined.generation_id,
            self._member_id,
            settings.instance_id,
            _CONSUMER,
            joined.protocol_name,
            assignments,
        )
        response = self._ask(request, "syncGroup", settings.max_poll_interval_ms + _PATIENCE_MS)
        if response.error_code:
            raise error_of_code(response.error_code)
        self._generation = joined.generation_id
        self._postpone_heartbeat()
        return decode_assignment(response.assignment)

    def _assign(self, joined: JoinGroupResponse) -> list[SyncGroupRequest.SyncGroupRequestAssignment]:
        members = {row.member_id: decode_subscription(row.metadata) for row in joined.members}
        wanted = {name for names in members.values() for name in names}
        partitions = {name: list(found) for name, found in self._topics.leaders.items() if name in wanted}
        return [
            SyncGroupRequest.SyncGroupRequestAssignment(member, encode_assignment(found))
            for member, found in assign_ranges(members, partitions).items()
        ]

    def heartbeat(self) -> None:
        """Renew the session if it is time. Afterwards `must_join` says whether the group rebalances.

        Raises:
            JavaError: the group refuses the member.
        """
        if time.monotonic() < self._next_heartbeat or self._generation == _NO_GENERATION:
            return
        settings = self._settings
        request = HeartbeatRequest(settings.group_id, self._generation, self._member_id, settings.instance_id)
        code = self._ask(request, "heartbeat").error_code
        self._postpone_heartbeat()
        if not code:
            return
        if code not in _REJOIN:
            raise error_of_code(code)
        self._note(error_of(code))

    def _note(self, code: ErrorCode) -> None:
        """Handle an error after which the member joins again."""
        self._generation = _NO_GENERATION
        if code in _FORGET:
            self._member_id = ""

    def _postpone_heartbeat(self) -> None:
        self._next_heartbeat = time.monotonic() + self._settings.heartbeat_interval_ms / 1000

    def commit(self, positions: Mapping[TopicPartition, Offset]) -> None:
        """Commit offsets of this generation. A failure is logged: the next commit has the same offsets."""
        if not positions or self._generation == _NO_GENERATION:
            return
        request = OffsetCommitRequest(
            self._settings.group_id,
            self._generation,
            self._member_id,
            self._settings.instance_id,
            topics=[
                OffsetCommitRequest.OffsetCommitRequestTopic(
                    topic,
                    partitions=[
                        OffsetCommitRequest.OffsetCommitRequestPartition(index, each.offset, each.epoch)
                        for index, each in ((index, positions[topic, index]) for index in indexes)
                    ],
                )
                for topic, indexes in by_topic(positions)
            ],
        )
        versioned = Versioned(ApiKey.OFFSET_COMMIT, lambda _: request, _LAST_COMMIT_WITH_NAMES)
        try:
            response = self._ask(versioned, "commitOffsets", _LAST_MS)
        except JavaError as error:
            self._log_commit(error)
            return
        codes = {row.error_code for topic in response.topics for row in topic.partitions} - {0}
        for code in codes:
            self._log_commit(error_of_code(code))
            if code in _REJOIN:
                self._note(error_of(code))

    def _log_commit(self, error: JavaError) -> None:
        settings = self._settings
        log_line(
            "WARN",
            f"[Consumer clientId={settings.client_id}, groupId={settings.group_id}] "
            f"Offset commit failed: {error}",
            _LOGGER,
        )

    def leave(self) -> None:
        """Leave the group; a static member stays, so that it can come back."""
        if not self._member_id or self._settings.instance_id is not None:
            return
        member = LeaveGroupRequest.MemberIdentity(self._member_id, None, "the consumer is being closed")
        request = LeaveGroupRequest(self._settings.group_id, self._member_id, [member])
        versioned = Versioned(ApiKey.LEAVE_GROUP, lambda version: _named(request, version))
        if self._generation == _NO_GENERATION:
            self._admin.close()  # a join that is under way would keep this request waiting
        try:
            self._ask(versioned, "leaveGroup", _LAST_MS)
        except JavaError as error:
            self._log_commit(error)

    def _ask(self, request: Message | Versioned, name: str, request_ms: int | None = None) -> Any:
        return self._admin.ask_coordinator(
            _GROUP, self._settings.group_id, request, name=name, request_ms=request_ms
        )


def _named(request: LeaveGroupRequest, version: int) -> LeaveGroupRequest:
    """Return the request without the form of its fields that belongs to other versions."""
    if version < 3:
        return LeaveGroupRequest(request.group_id, request.member_id)
    return LeaveGroupRequest(request.group_id, members=request.members)
