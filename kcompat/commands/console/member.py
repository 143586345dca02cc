"""Parts of a group member that do not depend on the protocol of its group: commits, and its coordinator."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kcompat.admin.connection import Versioned
from kcompat.admin.errors import JavaError, error_of_code
from kcompat.admin.log_lines import log_line
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.protocol.messages.offset_commit import OffsetCommitRequest
from kcompat.topics import by_topic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.admin.client import AdminClient
    from kcompat.commands.console.topic_view import TopicView
    from kcompat.commands.offsets import Offset
    from kcompat.protocol.message import Message
    from kcompat.topics import TopicPartition

NO_GENERATION: Final = -1
"""Generation, or epoch, of a member that is not in its group."""
LAST_MS: Final = 5000
"""Longest time in ms of a commit or of leaving the group, which also happen when the command ends."""

_GROUP: Final = 0
_LAST_COMMIT_WITH_NAMES: Final = 9
_LOGGER: Final = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
REJOIN: Final = (
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)
"""Errors after which a member joins again."""
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
    remote_assignor: str | None = None
    """Name of the assignor that the group coordinator uses, of KIP-848; None leaves it to the coordinator."""


class Member(ABC):
    """One member of a group. The owner has to call `leave`."""

    def __init__(self, admin: AdminClient, topics: TopicView, settings: GroupSettings) -> None:
        self._admin = admin
        self._topics = topics
        self._settings = settings
        self._member_id = ""
        self._generation = NO_GENERATION
        self._next_heartbeat = 0.0
        self.kept: set[TopicPartition] = set()
        """Partitions that the member had before the last `join` and after it, without a break."""

    @property
    @abstractmethod
    def must_join(self) -> bool:
        """Whether `join` has to be called, as the assignment is not there or no longer right."""

    @abstractmethod
    def join(self) -> list[TopicPartition]:
        """Join the group, or follow its new assignment, and return the partitions that the member has now.

        Raises:
            JavaError: the group refuses the member.
        """

    @abstractmethod
    def heartbeat(self) -> None:
        """Renew the session if it is time. Afterwards `must_join` says whether the assignment has changed.

        Raises:
            JavaError: the group refuses the member.
        """

    @abstractmethod
    def leave(self) -> None:
        """Leave the group; a static member stays, so that it can come back."""

    def commit(self, positions: Mapping[TopicPartition, Offset]) -> None:
        """Commit offsets of this generation. A failure is logged: the next commit has the same offsets."""
        if not positions or self._generation == NO_GENERATION:
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
            response = self._ask(versioned, "commitOffsets", LAST_MS)
        except JavaError as error:
            self._log_failure(error)
            return
        codes = {row.error_code for topic in response.topics for row in topic.partitions} - {0}
        for code in codes:
            self._log_failure(error_of_code(code))
            if code in REJOIN:
                self._note(error_of(code))

    def _log_failure(self, error: JavaError) -> None:
        settings = self._settings
        log_line(
            "WARN",
            f"[Consumer clientId={settings.client_id}, groupId={settings.group_id}] "
            f"Offset commit failed: {error}",
            _LOGGER,
        )

    def _note(self, code: ErrorCode) -> None:
        """Take note of an error after which the member joins again."""
        self._generation = NO_GENERATION
        if code in _FORGET:
            self._member_id = ""

    def _postpone_heartbeat(self, interval_ms: int) -> None:
        self._next_heartbeat = time.monotonic() + interval_ms / 1000

    def _ask(self, request: Message | Versioned, name: str, request_ms: int | None = None) -> Any:
        return self._admin.ask_coordinator(
            _GROUP, self._settings.group_id, request, name=name, request_ms=request_ms
        )
