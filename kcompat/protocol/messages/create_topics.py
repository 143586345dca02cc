"""CreateTopics: request and response (API key 19)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, boolean, int8, int16, int32, string, struct, uuid


@message("0-7", flexible="5+", api_key=19)
class CreateTopicsRequest(Message):
    """Request to create topics (key 19, v0 to v7)."""

    class CreatableReplicaAssignment(Part):
        partition_index: Annotated[int, int32("0+")] = 0
        broker_ids: Annotated[list[int], int32("0+")] = []

    class CreatableTopicConfig(Part):
        name: Annotated[str, string("0+")] = ""
        value: Annotated[str | None, string("0+", nullable="0+")] = ""

    class CreatableTopic(Part):
        name: Annotated[str, string("0+")] = ""
        num_partitions: Annotated[int, int32("0+")] = 0
        replication_factor: Annotated[int, int16("0+")] = 0
        assignments: Annotated[list[CreateTopicsRequest.CreatableReplicaAssignment], struct("0+")] = []
        configs: Annotated[list[CreateTopicsRequest.CreatableTopicConfig], struct("0+")] = []

    topics: Annotated[list[CreateTopicsRequest.CreatableTopic], struct("0+")] = []
    timeout_ms: Annotated[int, int32("0+")] = 60000
    validate_only: Annotated[bool, boolean("1+")] = False


@message("0-7", flexible="5+", api_key=19)
class CreateTopicsResponse(Message):
    """Response: an error code, id and configs for each topic (key 19, v0 to v7)."""

    class CreatableTopicConfigs(Part):
        name: Annotated[str, string("5+")] = ""
        value: Annotated[str | None, string("5+", nullable="5+")] = ""
        read_only: Annotated[bool, boolean("5+")] = False
        config_source: Annotated[int, int8("5+", ignorable=True)] = -1
        is_sensitive: Annotated[bool, boolean("5+")] = False

    class CreatableTopicResult(Part):
        name: Annotated[str, string("0+")] = ""
        topic_id: Annotated[bytes, uuid("7+", ignorable=True)] = ZERO_UUID
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("1+", nullable="1+", ignorable=True)] = ""
        topic_config_error_code: Annotated[int, int16("5+", tag=0, ignorable=True)] = 0
        num_partitions: Annotated[int, int32("5+", ignorable=True)] = -1
        replication_factor: Annotated[int, int16("5+", ignorable=True)] = -1
        configs: Annotated[
            list[CreateTopicsResponse.CreatableTopicConfigs] | None,
            struct("5+", nullable="5+", ignorable=True),
        ] = []

    throttle_time_ms: Annotated[int, int32("2+", ignorable=True)] = 0
    topics: Annotated[list[CreateTopicsResponse.CreatableTopicResult], struct("0+")] = []
