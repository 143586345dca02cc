"""StreamsGroupTopologyDescriptionUpdate: request and response (API key 93)."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, int8, int16, int32, string, struct


@message("0", flexible="0+", api_key=93)
class StreamsGroupTopologyDescriptionUpdateRequest(Message):
    """Request of a member to store a readable topology of its streams group (key 93, v0)."""

    class TopologyDescriptionNode(Part):
        name: Annotated[str, string("0+")] = ""
        node_type: Annotated[int, int8("0+")] = 0
        source_topics: Annotated[list[str], string("0+")] = []
        sink_topic: Annotated[str | None, string("0+", nullable="0+")] = None
        stores: Annotated[list[str], string("0+")] = []
        successors: Annotated[list[str], string("0+")] = []

    class TopologyDescriptionSubtopology(Part):
        subtopology_id: Annotated[str, string("0+")] = ""
        nodes: Annotated[
            list[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode], struct("0+")
        ] = []

    class TopologyDescriptionGlobalStore(Part):
        source: Annotated[
            StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode, struct("0+")
        ] = field(
            default_factory=lambda: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode()
        )
        processor: Annotated[
            StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode, struct("0+")
        ] = field(
            default_factory=lambda: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode()
        )

    class TopologyDescription(Part):
        subtopologies: Annotated[
            list[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionSubtopology], struct("0+")
        ] = []
        global_stores: Annotated[
            list[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionGlobalStore], struct("0+")
        ] = []

    group_id: Annotated[str, string("0+")] = ""
    member_id: Annotated[str, string("0+")] = ""
    topology_epoch: Annotated[int, int32("0+")] = 0
    topology_description: Annotated[
        StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescription, struct("0+")
    ] = field(default_factory=lambda: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescription())


@message("0", flexible="0+", api_key=93)
class StreamsGroupTopologyDescriptionUpdateResponse(Message):
    """Response: an error code (key 93, v0)."""

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    error_message: Annotated[str | None, string("0+", nullable="0+")] = None
