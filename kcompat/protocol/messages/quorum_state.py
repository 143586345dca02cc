"""The KRaft quorum-state file."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, int32, int64, string, struct, uuid


@message("0-1", flexible="0+")
class QuorumStateData(Message):
    """The KRaft quorum-state file (v0 to v1)."""

    class Voter(Part):
        voter_id: Annotated[int, int32("0")] = 0

    cluster_id: Annotated[str, string("0")] = ""
    leader_id: Annotated[int, int32("0+")] = -1
    leader_epoch: Annotated[int, int32("0+")] = -1
    voted_id: Annotated[int, int32("0+")] = -1
    voted_directory_id: Annotated[bytes, uuid("1+")] = ZERO_UUID
    applied_offset: Annotated[int, int64("0")] = 0
    current_voters: Annotated[list[QuorumStateData.Voter] | None, struct("0", nullable="0")] = []
