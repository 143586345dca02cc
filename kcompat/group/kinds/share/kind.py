"""Share groups as a kind of group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.group.kinds.share import heartbeat
from kcompat.group.kinds.share.group import ShareGroup
from kcompat.group.kinds.share.records import RECORDS
from kcompat.group.kinds.share.requests import (
    DescribedShareGroup,
    ShareHeartbeatOutcome,
    ShareHeartbeatRequest,
    request_refusal,
)
from kcompat.group.modern.heartbeat import HeartbeatAnswer
from kcompat.group.modern.kind import ModernKind

if TYPE_CHECKING:
    from kcompat.protocol.errors import ErrorCode


def _refused(error: ErrorCode, message: str | None = None) -> ShareHeartbeatOutcome:
    return ShareHeartbeatOutcome(HeartbeatAnswer(error, message))


SHARE_KIND: Final = ModernKind[ShareHeartbeatRequest, ShareHeartbeatOutcome, DescribedShareGroup](
    ShareGroup,
    RECORDS,
    request_refusal,
    heartbeat.leave,
    heartbeat.go_on,
    _refused,
    DescribedShareGroup,
)
