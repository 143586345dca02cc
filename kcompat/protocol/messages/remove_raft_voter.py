"""RemoveRaftVoter: request and response (API key 81)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, int16, int32, string, uuid


@message("0", flexible="0+", api_key=81)
class RemoveRaftVoterRequest(Message):
    """Request to remove a voter from the KRaft quorum (KIP-853) (key 81, v0)."""

    cluster_id: Annotated[str | None, string("0+", nullable="0+")] = ""
    voter_id: Annotated[int, int32("0+")] = 0
    voter_directory_id: Annotated[bytes, uuid("0+")] = ZERO_UUID


@message("0", flexible="0+", api_key=81)
class RemoveRaftVoterResponse(Message):
    """Response: an error code (key 81, v0)."""

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    error_message: Annotated[str | None, string("0+", nullable="0+", ignorable=True)] = ""
