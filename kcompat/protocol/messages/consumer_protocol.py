"""Subscriptions and assignments: the bytes that consumers of a classic group exchange through JoinGroup and
SyncGroup.
"""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, binary, int32, string, struct


@message("0-3")
class ConsumerProtocolAssignment(Message):
    """The partitions that the leader of a consumer group assigns to one member (v0 to v3)."""

    class TopicPartition(Part):
        topic: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[int], int32("0+")] = []

    assigned_partitions: Annotated[list[ConsumerProtocolAssignment.TopicPartition], struct("0+")] = []
    user_data: Annotated[bytes | None, binary("0+", nullable="0+")] = None


@message("0-3")
class ConsumerProtocolSubscription(Message):
    """The topics that a member of a consumer group subscribes to, and the partitions it owns (v0 to v3)."""

    class TopicPartition(Part):
        topic: Annotated[str, string("1+")] = ""
        partitions: Annotated[list[int], int32("1+")] = []

    topics: Annotated[list[str], string("0+")] = []
    user_data: Annotated[bytes | None, binary("0+", nullable="0+")] = None
    owned_partitions: Annotated[
        list[ConsumerProtocolSubscription.TopicPartition], struct("1+", ignorable=True)
    ] = []
    generation_id: Annotated[int, int32("2+", ignorable=True)] = -1
    rack_id: Annotated[str | None, string("3+", nullable="3+", ignorable=True)] = None
