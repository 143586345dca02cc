"""The log of slow requests: a warning that names the stage that took the time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.notices.cause import client
from kcompat.notices.causes import SLOW_REQUEST
from kcompat.observe.request_stages import milliseconds
from kcompat.protocol.api_keys import ApiKey
from kcompat.security.operations import camel_case

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.notices.notices import Notices
    from kcompat.observe.request_stages import Described, Stages

_WAITING: Final = {
    int(key).to_bytes(2, "big")
    for key in (ApiKey.FETCH, ApiKey.SHARE_FETCH, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP)
}
"""Requests whose client asks to wait, for data or for other members: this wait does not make them slow."""


class SlowRequests:
    """A `StageLog` of the requests that take longer than a limit."""

    def __init__(self, limit_ms: float, notices: Callable[[], Notices]) -> None:
        """Log requests that take `limit_ms` or longer; `notices` returns the broker's current log of
        failures.
        """
        self._limit_ms = limit_ms
        self._limit_ns = limit_ms * 1e6
        self._notices = notices

    def is_wanted(self, stages: Stages) -> bool:
        spent_ns = stages.total_ns
        if spent_ns < self._limit_ns:
            return False
        return stages.head[:2] not in _WAITING or spent_ns - stages.remote_ns >= self._limit_ns

    def write(self, stages: Stages, described: Described) -> None:
        self._notices().tell(
            SLOW_REQUEST,
            client(described.client_id, stages.connection.peer_host),
            request=camel_case(described.key),
            version=described.version,
            total=milliseconds(stages.total_ns),
            queue=milliseconds(stages.queue_ns),
            local=milliseconds(stages.local_ns),
            remote=milliseconds(stages.remote_ns),
            send=milliseconds(stages.send_ns),
            throttle=described.throttle_ms,
        )
