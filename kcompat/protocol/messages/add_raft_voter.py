"""AddRaftVoter: request and response (API key 80)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, boolean, int16, int32, string, struct, uint16, uuid


@message("0-1", flexible="0+", api_key=80)
class AddRaftVoterRequest(Message):
    """Request to add a voter to the KRaft quorum (KIP-853) (key 80, v0 to v1)."""

    class Listener(Part):
        name: Annotated[str, string("0+")] = ""
        host: Annotated[str, string("0+")] = ""
        port: Annotated[int, uint16("0+")] = 0

    cluster_id: Annotated[str | None, string("0+", nullable="0+")] = ""
    timeout_ms: Annotated[int, int32("0+")] = 0
    voter_id: Annotated[int, int32("0+")] = 0
    voter_directory_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
    listeners: Annotated[list[AddRaftVoterRequest.Listener], struct("0+")] = []
    ack_when_committed: Annotated[bool, boolean("1+")] = True


@message("0-1", flexible="0+", api_key=80)
class AddRaftVoterResponse(Message):
    """Response: an error code (key 80, v0 to v1)."""

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    error_message: Annotated[str | None, string("0+", nullable="0+", ignorable=True)] = ""
