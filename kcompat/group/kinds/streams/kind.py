"""Streams groups as a kind of group."""

from __future__ import annotations

from typing import Final

from kcompat.group.kinds.streams import heartbeat
from kcompat.group.kinds.streams.group import StreamsGroup
from kcompat.group.kinds.streams.records import RECORDS
from kcompat.group.kinds.streams.requests import (
    DescribedStreamsGroup,
    StreamsHeartbeatAnswer,
    StreamsHeartbeatRequest,
    request_refusal,
)
from kcompat.group.modern.kind import ModernKind

STREAMS_KIND: Final = ModernKind[StreamsHeartbeatRequest, StreamsHeartbeatAnswer, DescribedStreamsGroup](
    StreamsGroup,
    RECORDS,
    request_refusal,
    heartbeat.leave,
    heartbeat.go_on,
    StreamsHeartbeatAnswer,
    DescribedStreamsGroup,
)
