"""Consumer groups as a kind of group."""

from __future__ import annotations

from typing import Final

from kcompat.group.kinds.consumer import heartbeat
from kcompat.group.kinds.consumer.group import ConsumerGroup
from kcompat.group.kinds.consumer.records import RECORDS
from kcompat.group.kinds.consumer.requests import (
    ConsumerHeartbeatRequest,
    DescribedConsumerGroup,
    request_refusal,
)
from kcompat.group.modern.heartbeat import HeartbeatAnswer
from kcompat.group.modern.kind import ModernKind

CONSUMER_KIND: Final = ModernKind[ConsumerHeartbeatRequest, HeartbeatAnswer, DescribedConsumerGroup](
    ConsumerGroup,
    RECORDS,
    request_refusal,
    heartbeat.leave,
    heartbeat.go_on,
    HeartbeatAnswer,
    DescribedConsumerGroup,
)
