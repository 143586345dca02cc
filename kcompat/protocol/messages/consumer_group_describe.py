"""ConsumerGroupDescribe: request and response (API key 69)."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, boolean, int8, int16, int32, string, struct, uuid


@message("0-1", flexible="0+", api_key=69)
class ConsumerGroupDescribeRequest(Message):
    """Request for the state and members of consumer groups (KIP-848) (key 69, v0 to v1)."""

    group_ids: Annotated[list[str], string("0+")] = []
    include_authorized_operations: Annotated[bool, boolean("0+")] = False


@message("0-1", flexible="0+", api_key=69)
class ConsumerGroupDescribeResponse(Message):
    """Response: state and members of each group (key 69, v0 to v1)."""

    class TopicPartitions(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        topic_name: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[int], int32("0+")] = []

    class Assignment(Part):
        topic_partitions: Annotated[list[ConsumerGroupDescribeResponse.TopicPartitions], struct("0+")] = []

    class Member(Part):
        member_id: Annotated[str, string("0+")] = ""
        instance_id: Annotated[str | None, string("0+", nullable="0+")] = None
        rack_id: Annotated[str | None, string("0+", nullable="0+")] = None
        member_epoch: Annotated[int, int32("0+")] = 0
        client_id: Annotated[str, string("0+")] = ""
        client_host: Annotated[str, string("0+")] = ""
        subscribed_topic_names: Annotated[list[str], string("0+")] = []
        subscribed_topic_regex: Annotated[str | None, string("0+", nullable="0+")] = None
        assignment: Annotated[ConsumerGroupDescribeResponse.Assignment, struct("0+")] = field(
            default_factory=lambda: ConsumerGroupDescribeResponse.Assignment()
        )
        target_assignment: Annotated[ConsumerGroupDescribeResponse.Assignment, struct("0+")] = field(
            default_factory=lambda: ConsumerGroupDescribeResponse.Assignment()
        )
        member_type: Annotated[int, int8("1+", ignorable=True)] = -1

    class DescribedGroup(Part):
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = None
        group_id: Annotated[str, string("0+")] = ""
        group_state: Annotated[str, string("0+")] = ""
        group_epoch: Annotated[int, int32("0+")] = 0
        assignment_epoch: Annotated[int, int32("0+")] = 0
        assignor_name: Annotated[str, string("0+")] = ""
        members: Annotated[list[ConsumerGroupDescribeResponse.Member], struct("0+")] = []
        authorized_operations: Annotated[int, int32("0+")] = -0x80000000

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    groups: Annotated[list[ConsumerGroupDescribeResponse.DescribedGroup], struct("0+")] = []
