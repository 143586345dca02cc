"""Keys and values of control records."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, int16, int32, int64, string, struct, uint16, uuid


@message("0")
class ControlRecordTypeSchema(Message):
    """The key of a control record, without its leading int16 version (v0)."""

    type: Annotated[int, int16("0+")] = 0


@message("0")
class EndTxnMarker(Message):
    """The value of a commit or abort marker, without its leading int16 version (v0)."""

    coordinator_epoch: Annotated[int, int32("0+")] = 0


@message("0", flexible="0+")
class KRaftVersionRecord(Message):
    """The value of a KRaft version control record (v0)."""

    version: Annotated[int, int16("0+")] = 0
    kraft_version: Annotated[int, int16("0+")] = 0


@message("0-1", flexible="0+")
class LeaderChangeMessage(Message):
    """The value of a KRaft leader change control record (v0 to v1)."""

    class Voter(Part):
        voter_id: Annotated[int, int32("0+")] = 0
        voter_directory_id: Annotated[bytes, uuid("1+")] = ZERO_UUID

    version: Annotated[int, int16("0+")] = 0
    leader_id: Annotated[int, int32("0+")] = 0
    voters: Annotated[list[LeaderChangeMessage.Voter], struct("0+")] = []
    granting_voters: Annotated[list[LeaderChangeMessage.Voter], struct("0+")] = []


@message("0", flexible="0+")
class SnapshotFooterRecord(Message):
    """The last control record of a KRaft snapshot (v0)."""

    version: Annotated[int, int16("0+")] = 0


@message("0", flexible="0+")
class SnapshotHeaderRecord(Message):
    """The first control record of a KRaft snapshot (v0)."""

    version: Annotated[int, int16("0+")] = 0
    last_contained_log_timestamp: Annotated[int, int64("0+")] = 0


@message("0", flexible="0+")
class VotersRecord(Message):
    """The value of a KRaft voters control record (v0)."""

    class Endpoint(Part):
        name: Annotated[str, string("0+")] = ""
        host: Annotated[str, string("0+")] = ""
        port: Annotated[int, uint16("0+")] = 0

    class KRaftVersionFeature(Part):
        min_supported_version: Annotated[int, int16("0+")] = 0
        max_supported_version: Annotated[int, int16("0+")] = 0

    class Voter(Part):
        voter_id: Annotated[int, int32("0+")] = 0
        voter_directory_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        endpoints: Annotated[list[VotersRecord.Endpoint], struct("0+")] = []
        kraft_version_feature: Annotated[VotersRecord.KRaftVersionFeature, struct("0+")] = field(
            default_factory=lambda: VotersRecord.KRaftVersionFeature()
        )

    version: Annotated[int, int16("0+")] = 0
    voters: Annotated[list[VotersRecord.Voter], struct("0+")] = []
