"""A member of a consumer group of KIP-848, which has one request: the group coordinator assigns partitions.

Kafka's counterpart: `ConsumerMembershipManager` with `ConsumerHeartbeatRequestManager`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from kcompat.admin.connection import Versioned
from kcompat.admin.errors import JavaError, raise_for, unsupported
from kcompat.commands.console.member import LAST_MS, NO_GENERATION, REJOIN, Member
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kcompat.protocol.uuids import uuid_to_text
from kcompat.topics import by_topic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.admin.client import AdminClient
    from kcompat.commands.console.member import GroupSettings
    from kcompat.commands.console.topic_view import TopicView
    from kcompat.commands.offsets import Offset
    from kcompat.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
    from kcompat.topics import TopicPartition

_JOINING: Final = 0
_LEAVING: Final = -1
_LEAVING_FOR_A_TIME: Final = -2
_NOT_SUPPORTED: Final = (
    "The cluster does not support the new CONSUMER group protocol. Set group.protocol=classic on the "
    "consumer configs to revert to the CLASSIC protocol until the cluster is upgraded."
)
_FIRST_WITH_OWN_ID: Final = 1
"""Version of the heartbeat from which members choose their ids; before, the coordinator did."""


class ConsumerMembership(Member):
    """One member of a consumer group that has assignors of its own."""

    def __init__(self, admin: AdminClient, topics: TopicView, settings: GroupSettings) -> None:
        super().__init__(admin, topics, settings)
        self._new_id = uuid_to_text(uuid4().bytes)
        self._subscribed: list[str] = []
        self._owned: list[TopicPartition] = []
        self._target: list[TopicPartition] = []
        self._has_asked = False  # to join; the coordinator may have a member that knows nothing of it yet

    @property
    def must_join(self) -> bool:
        """Whether the member is not in the group, its topics have changed, or it has a new assignment."""
        is_in_group = self._generation != NO_GENERATION
        return not is_in_group or self._subscribed != self._names() or self._target != self._owned

    def _names(self) -> list[str]:
        return sorted(self._topics.leaders)

    def join(self) -> list[TopicPartition]:
        """Join the group, or follow its new assignment, and return the partitions that the member has now.

        Raises:
            JavaError: the group refuses the member.
        """
        self.kept = set(self._owned)
        while self.must_join:
            if self._generation == NO_GENERATION:
                self.kept.clear()
                self._topics.refresh()
                self._owned, self._target = [], []
                self._beat(_JOINING, names=self._names(), owned=[])
            elif self._subscribed != self._names():
                self._beat(self._generation, names=self._names())
            else:
                self._owned = self._target
                self.kept.intersection_update(self._owned)
                self._beat(self._generation, owned=self._owned)
        return self._owned

    def heartbeat(self) -> None:
        """Renew the session if it is time. Afterwards `must_join` says whether there is a new assignment.

        Raises:
            JavaError: the group refuses the member.
        """
        if time.monotonic() >= self._next_heartbeat and self._generation != NO_GENERATION:
            self._beat(self._generation)

    def commit(self, positions: Mapping[TopicPartition, Offset]) -> None:
        """Commit offsets at the present epoch of the member, for which a heartbeat asks."""
        if positions and self._generation != NO_GENERATION:
            try:
                self._beat(self._generation)
            except JavaError as error:
                self._log_failure(error)
                return
        super().commit(positions)

    def leave(self) -> None:
        """Leave the group; a static member stays, so that it can come back."""
        if not self._has_asked:
            return
        is_static = self._settings.instance_id is not None
        try:
            self._ask_coordinator(_LEAVING_FOR_A_TIME if is_static else _LEAVING, None, None, LAST_MS)
        except JavaError as error:
            self._log_failure(error)

    def _beat(
        self, epoch: int, *, names: list[str] | None = None, owned: list[TopicPartition] | None = None
    ) -> None:
        """Send a heartbeat with what has changed, and take what the coordinator answers. Raises JavaError."""
        self._has_asked = True
        try:
            response = self._ask_coordinator(epoch, names, owned)
            raise_for(response.error_code, response.error_message)
        except JavaError as error:
            self._has_asked = epoch != _JOINING or error.code == ErrorCode.REQUEST_TIMED_OUT
            if error.code == ErrorCode.UNSUPPORTED_VERSION:
                raise unsupported(_NOT_SUPPORTED) from None
            if error.code not in REJOIN:
                raise
            self._note(error.code)
            return
        self._member_id = response.member_id or self._member_id
        self._generation = response.member_epoch
        if names is not None:
            self._subscribed = names
        if response.assignment is not None:
            self._target = self._named(response.assignment)
        self._postpone_heartbeat(response.heartbeat_interval_ms)

    def _named(self, assignment: ConsumerGroupHeartbeatResponse.Assignment) -> list[TopicPartition]:
        """Return assigned partitions by the names of their topics; a topic without a name is gone."""
        if any(row.topic_id not in self._topics.names for row in assignment.topic_partitions):
            self._topics.refresh()
        return sorted(
            (self._topics.names[row.topic_id], index)
            for row in assignment.topic_partitions
            if row.topic_id in self._topics.names
            for index in row.partitions
        )

    def _ask_coordinator(
        self,
        epoch: int,
        names: list[str] | None,
        owned: list[TopicPartition] | None,
        request_ms: int | None = None,
    ) -> Any:
        settings = self._settings
        partitions = None
        if owned is not None:
            ids = {name: topic_id for topic_id, name in self._topics.names.items()}
            partitions = [
                ConsumerGroupHeartbeatRequest.TopicPartitions(ids[topic], list(indexes))
                for topic, indexes in by_topic(owned)
                if topic in ids
            ]

        def make(version: int) -> ConsumerGroupHeartbeatRequest:
            new_id = self._new_id if version >= _FIRST_WITH_OWN_ID else ""
            return ConsumerGroupHeartbeatRequest(
                settings.group_id,
                self._member_id or new_id,
                epoch,
                settings.instance_id,
                rebalance_timeout_ms=settings.max_poll_interval_ms if epoch == _JOINING else -1,
                subscribed_topic_names=names,
                server_assignor=settings.remote_assignor if epoch == _JOINING else None,
                topic_partitions=partitions,
            )

        versioned = Versioned(ApiKey.CONSUMER_GROUP_HEARTBEAT, make)
        return self._ask(versioned, "consumerGroupHeartbeat", request_ms)
