"""Table of the kinds of groups to which the broker assigns, each as one value. Add new kinds here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kcompat.group.kinds.consumer import heartbeat as consumer
from kcompat.group.kinds.consumer import records as consumer_records
from kcompat.group.kinds.consumer import requests as consumer_requests
from kcompat.group.kinds.consumer.group import ConsumerGroup
from kcompat.group.kinds.share import heartbeat as share
from kcompat.group.kinds.share import records as share_records
from kcompat.group.kinds.share import requests as share_requests
from kcompat.group.kinds.share.group import ShareGroup
from kcompat.group.kinds.streams import heartbeat as streams
from kcompat.group.kinds.streams import records as streams_records
from kcompat.group.kinds.streams import requests as streams_requests
from kcompat.group.kinds.streams.group import StreamsGroup
from kcompat.group.modern.heartbeat import HeartbeatAnswer
from kcompat.group.modern.kind import ModernKind

if TYPE_CHECKING:
    from kcompat.protocol.errors import ErrorCode

CONSUMER_KIND: Final = ModernKind[
    consumer_requests.ConsumerHeartbeatRequest, HeartbeatAnswer, consumer_requests.DescribedConsumerGroup
](
    ConsumerGroup,
    consumer_records.RECORDS,
    consumer_requests.request_refusal,
    consumer.leave,
    consumer.go_on,
    HeartbeatAnswer,
    consumer_requests.DescribedConsumerGroup,
)
"""Consumer groups (KIP-848)."""


def _refused_share_heartbeat(
    error: ErrorCode, message: str | None = None
) -> share_requests.ShareHeartbeatOutcome:
    return share_requests.ShareHeartbeatOutcome(HeartbeatAnswer(error, message))


SHARE_KIND: Final = ModernKind[
    share_requests.ShareHeartbeatRequest,
    share_requests.ShareHeartbeatOutcome,
    share_requests.DescribedShareGroup,
](
    ShareGroup,
    share_records.RECORDS,
    share_requests.request_refusal,
    share.leave,
    share.go_on,
    _refused_share_heartbeat,
    share_requests.DescribedShareGroup,
)
"""Share groups (KIP-932)."""

STREAMS_KIND: Final = ModernKind[
    streams_requests.StreamsHeartbeatRequest,
    streams_requests.StreamsHeartbeatAnswer,
    streams_requests.DescribedStreamsGroup,
](
    StreamsGroup,
    streams_records.RECORDS,
    streams_requests.request_refusal,
    streams.leave,
    streams.go_on,
    streams_requests.StreamsHeartbeatAnswer,
    streams_requests.DescribedStreamsGroup,
)
"""Streams groups (KIP-1071)."""

MODERN_KINDS: Final[tuple[ModernKind[Any, Any, Any], ...]] = (CONSUMER_KIND, SHARE_KIND, STREAMS_KIND)
