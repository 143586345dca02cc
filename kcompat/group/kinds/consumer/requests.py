"""What is asked of consumer groups and what they answer, free of protocol versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.group.kinds.consumer.roster import ConsumerState


class HeartbeatRequest(Struct, frozen=True):
    """A member says that it is there, what it has and what it wants; None for what has not changed.

    `owned` are partitions by topic id. `may_describe(topic)` says what the client may find with a pattern.
    """

    group_id: str
    member_id: str
    member_epoch: int
    client_id: str
    client_host: str
    may_describe: Callable[[str], bool]
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topics: frozenset[str] | None = None
    subscribed_regex: str | None = None
    server_assignor: str | None = None
    owned: Mapping[bytes, frozenset[int]] | None = None
    needs_member_id: bool = True
    """Whether the client is one that makes its own member id (v1+)."""

    @property
    def is_full(self) -> bool:
        """Whether the member says all there is to say, as it does after an error."""
        subscribes = self.subscribed_topics is not None or self.subscribed_regex is not None
        return self.rebalance_timeout_ms != -1 and subscribes and self.owned is not None


class DescribedConsumer(Struct, frozen=True):
    """A member as ConsumerGroupDescribe shows it; partitions by topic id."""

    member_id: str
    member_epoch: int
    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topics: tuple[str, ...]
    subscribed_regex: str
    assigned: Mapping[bytes, tuple[int, ...]]
    target: Mapping[bytes, tuple[int, ...]]
    is_classic: bool


class DescribedConsumerGroup(Struct, frozen=True):
    """A group as ConsumerGroupDescribe shows it."""

    group_id: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    state: ConsumerState | None = None
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor: str = ""
    members: tuple[DescribedConsumer, ...] = ()
