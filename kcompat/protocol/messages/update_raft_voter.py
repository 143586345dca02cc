"""UpdateRaftVoter: request and response (API key 82)."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct, field

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, int16, int32, string, struct, uint16, uuid


@message("0", flexible="0+", api_key=82)
class UpdateRaftVoterRequest(Message):
    """Request to update endpoints and versions of a KRaft voter (KIP-853) (key 82, v0)."""

    class Listener(Part):
        name: Annotated[str, string("0+")] = ""
        host: Annotated[str, string("0+")] = ""
        port: Annotated[int, uint16("0+")] = 0

    class KRaftVersionFeature(Part):
        min_supported_version: Annotated[int, int16("0+")] = 0
        max_supported_version: Annotated[int, int16("0+")] = 0

    cluster_id: Annotated[str | None, string("0+", nullable="0+")] = ""
    current_leader_epoch: Annotated[int, int32("0+")] = 0
    voter_id: Annotated[int, int32("0+")] = 0
    voter_directory_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
    listeners: Annotated[list[UpdateRaftVoterRequest.Listener], struct("0+")] = []
    kraft_version_feature: Annotated[UpdateRaftVoterRequest.KRaftVersionFeature, struct("0+")] = field(
        default_factory=lambda: UpdateRaftVoterRequest.KRaftVersionFeature()
    )


@message("0", flexible="0+", api_key=82)
class UpdateRaftVoterResponse(Message):
    """Response: an error code, and the quorum's current leader (key 82, v0)."""

    class CurrentLeader(Struct, frozen=True, gc=False):
        leader_id: Annotated[int, int32("0+")] = -1
        leader_epoch: Annotated[int, int32("0+")] = -1
        host: Annotated[str, string("0+")] = ""
        port: Annotated[int, int32("0+")] = 0

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    current_leader: Annotated[CurrentLeader, struct("0+", tag=0)] = CurrentLeader()
