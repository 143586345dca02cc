"""Metadata: request and response (API key 3)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, boolean, int16, int32, string, struct, uuid


@message("0-13", flexible="9+", api_key=3)
class MetadataRequest(Message):
    """Request for brokers, topics and partition leaders (key 3, v0 to v13)."""

    class MetadataRequestTopic(Part):
        topic_id: Annotated[bytes, uuid("10+", ignorable=True)] = ZERO_UUID
        name: Annotated[str | None, string("0+", nullable="10+")] = ""

    topics: Annotated[list[MetadataRequest.MetadataRequestTopic] | None, struct("0+", nullable="1+")] = []
    allow_auto_topic_creation: Annotated[bool, boolean("4+")] = True
    include_cluster_authorized_operations: Annotated[bool, boolean("8-10")] = False
    include_topic_authorized_operations: Annotated[bool, boolean("8+")] = False


@message("0-13", flexible="9+", api_key=3)
class MetadataResponse(Message):
    """Response: brokers, and the topics with their partitions (key 3, v0 to v13)."""

    class MetadataResponseBroker(Part):
        node_id: Annotated[int, int32("0+")] = 0
        host: Annotated[str, string("0+")] = ""
        port: Annotated[int, int32("0+")] = 0
        rack: Annotated[str | None, string("1+", nullable="1+", ignorable=True)] = None

    class MetadataResponsePartition(Part):
        error_code: Annotated[int, int16("0+")] = 0
        partition_index: Annotated[int, int32("0+")] = 0
        leader_id: Annotated[int, int32("0+")] = 0
        leader_epoch: Annotated[int, int32("7+", ignorable=True)] = -1
        replica_nodes: Annotated[list[int], int32("0+")] = []
        isr_nodes: Annotated[list[int], int32("0+")] = []
        offline_replicas: Annotated[list[int], int32("5+", ignorable=True)] = []

    class MetadataResponseTopic(Part):
        error_code: Annotated[int, int16("0+")] = 0
        name: Annotated[str | None, string("0+", nullable="12+")] = ""
        topic_id: Annotated[bytes, uuid("10+", ignorable=True)] = ZERO_UUID
        is_internal: Annotated[bool, boolean("1+", ignorable=True)] = False
        partitions: Annotated[list[MetadataResponse.MetadataResponsePartition], struct("0+")] = []
        topic_authorized_operations: Annotated[int, int32("8+")] = -0x80000000

    throttle_time_ms: Annotated[int, int32("3+", ignorable=True)] = 0
    brokers: Annotated[list[MetadataResponse.MetadataResponseBroker], struct("0+")] = []
    cluster_id: Annotated[str | None, string("2+", nullable="2+", ignorable=True)] = None
    controller_id: Annotated[int, int32("1+", ignorable=True)] = -1
    topics: Annotated[list[MetadataResponse.MetadataResponseTopic], struct("0+")] = []
    cluster_authorized_operations: Annotated[int, int32("8-10")] = -0x80000000
    error_code: Annotated[int, int16("13+", ignorable=True)] = 0
