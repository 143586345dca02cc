"""A member of a classic consumer group: joins, gets partitions, renews its session, commits and leaves.

Kafka's counterparts: `AbstractCoordinator` and `ConsumerCoordinator` with eager rebalances.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from kcompat.admin.connection import Versioned
from kcompat.admin.errors import JavaError, error_of_code
from kcompat.commands.console.assignment import (
    RANGE,
    assign_ranges,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from kcompat.commands.console.member import LAST_MS, NO_GENERATION, REJOIN, Member
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.join_group import JoinGroupRequest
from kcompat.protocol.messages.leave_group import LeaveGroupRequest
from kcompat.protocol.messages.sync_group import SyncGroupRequest

if TYPE_CHECKING:
    from kcompat.admin.client import AdminClient
    from kcompat.commands.console.member import GroupSettings
    from kcompat.commands.console.topic_view import TopicView
    from kcompat.protocol.messages.join_group import JoinGroupResponse
    from kcompat.topics import TopicPartition

_CONSUMER: Final = "consumer"
_PATIENCE_MS: Final = 5000
"""Milliseconds that a join may take beyond the rebalance timeout, as in `AbstractCoordinator`."""


class Membership(Member):
    """One member of a classic group."""

    def __init__(self, admin: AdminClient, topics: TopicView, settings: GroupSettings) -> None:
        super().__init__(admin, topics, settings)
        self._known: dict[str, int] = {}

    @property
    def must_join(self) -> bool:
        """Whether the member has no assignment, or its topics or their numbers of partitions have changed."""
        return self._generation == NO_GENERATION or self._known != self._sizes()

    def _sizes(self) -> dict[str, int]:
        return {topic: len(leaders) for topic, leaders in self._topics.leaders.items()}

    def join(self) -> list[TopicPartition]:
        """Join the group, or join again, and return the partitions that this member has now.

        Raises:
            JavaError: the group refuses the member.
        """
        while True:
            self._generation = NO_GENERATION
            self._topics.refresh()
            self._known = self._sizes()
            try:
                joined = self._join()
                if joined is not None:
                    return self._sync(joined)
            except JavaError as error:
                if error.code not in REJOIN:
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
        self._postpone_heartbeat(self._settings.heartbeat_interval_ms)
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
        if time.monotonic() < self._next_heartbeat or self._generation == NO_GENERATION:
            return
        settings = self._settings
        request = HeartbeatRequest(settings.group_id, self._generation, self._member_id, settings.instance_id)
        code = self._ask(request, "heartbeat").error_code
        self._postpone_heartbeat(self._settings.heartbeat_interval_ms)
        if not code:
            return
        if code not in REJOIN:
            raise error_of_code(code)
        self._note(error_of(code))

    def leave(self) -> None:
        """Leave the group; a static member stays, so that it can come back."""
        if not self._member_id or self._settings.instance_id is not None:
            return
        member = LeaveGroupRequest.MemberIdentity(self._member_id, None, "the consumer is being closed")
        request = LeaveGroupRequest(self._settings.group_id, self._member_id, [member])
        versioned = Versioned(ApiKey.LEAVE_GROUP, lambda version: _named(request, version))
        if self._generation == NO_GENERATION:
            self._admin.close()  # a join that is under way would keep this request waiting
        try:
            self._ask(versioned, "leaveGroup", LAST_MS)
        except JavaError as error:
            self._log_failure(error)


def _named(request: LeaveGroupRequest, version: int) -> LeaveGroupRequest:
    """Return the request without the form of its fields that belongs to other versions."""
    if version < 3:
        return LeaveGroupRequest(request.group_id, request.member_id)
    return LeaveGroupRequest(request.group_id, members=request.members)
