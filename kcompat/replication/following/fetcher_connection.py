"""The connection of a fetcher to its leader: sends the fetcher's requests, and continues it when a pause
ends.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from kcompat.logger_names import REPLICA_FETCHER
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kcompat.replication.following.follower_fetch_session import keep_requested

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.clock import Clock, Timer
    from kcompat.promise import Promise
    from kcompat.protocol.message import Message
    from kcompat.replication.following.fetcher import Fetcher

logger = logging.getLogger(REPLICA_FETCHER)

FIRST_WITH_IDS: Final = 13
FIRST_WITH_REPLICA_STATE: Final = 15


class LeaderPort(Protocol):
    """Port to another broker that leads partitions."""

    def ask(self, key: ApiKey, make: Callable[[int], Message], timeout_ms: int) -> Promise[Message]:
        """Send the request `make(version)`, in a version that both brokers support, and promise its response.

        The promise fails if the broker cannot be reached or does not respond within `timeout_ms`.
        """

    def disconnect(self) -> None:
        """Close the connection, and fail pending requests; the next `ask` opens a new connection."""


class FetcherConnection:
    """A fetcher and its connection to a leader."""

    def __init__(
        self,
        broker_id: int,
        fetcher: Fetcher,
        leader: Callable[[], LeaderPort],
        clock: Clock,
        timeout_ms: int,
    ) -> None:
        self._broker_id = broker_id
        self.fetcher = fetcher
        self._leader = leader
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._under_way: Message | None = None
        self._is_ending_fetch = False
        """Whether a request was sent to end the fetch that waits at the leader, and its response is still
        pending.
        """
        self._timer: Timer | None = None
        self._is_closed = False

    def go_on_soon(self) -> None:
        """Send the next request after the current event, so that it includes every partition that the event
        adds.
        """
        self._set_timer(0)

    def close(self) -> None:
        """Stop sending requests, and close the connection."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._leader().disconnect()

    def _set_timer(self, delay_ms: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._clock.call_later(delay_ms, self._timer_rang)

    def _timer_rang(self) -> None:
        self._timer = None
        if self._under_way is None:
            self._go_on()
        elif isinstance(self._under_way, FetchRequest) and not self._is_ending_fetch:
            self._is_ending_fetch = True
            self._call(OffsetForLeaderEpochRequest(self._broker_id)).then(
                self._fetch_ended, self._fetch_ended
            )

    def _fetch_ended(self, _: object) -> None:
        self._is_ending_fetch = False

    def _go_on(self) -> None:
        """Send the fetcher's next request, if it has one, and set a timer for the end of its first pause."""
        now_ms = self._clock.now_ms()
        request = self.fetcher.next(now_ms)
        due_ms = self.fetcher.due_ms()
        if due_ms is not None:
            self._set_timer(due_ms - now_ms)
        if request is not None:
            self._under_way = request
            self._call(request).then(self._answered, lambda fault: self._failed(request, fault))

    def _call(self, request: Message) -> Promise[Message]:
        key = ApiKey(request.api_key)
        return self._leader().ask(key, partial(_fitted, request), self._timeout_ms)

    def _answered(self, response: Message) -> None:
        self._under_way = None
        if not self._is_closed:
            self.fetcher.answered(response, self._clock.now_ms())
            self._go_on()

    def _failed(self, request: Message, fault: Exception) -> None:
        self._under_way = None
        if not self._is_closed:
            logger.info("%s got no response: %s", type(request).__name__, fault)
            self.fetcher.failed_call(request, self._clock.now_ms())
            self._go_on()


def _fitted(request: Message, version: int) -> Message:
    """Return the request adapted to a version: before version 15, Fetch has the follower's id in another
    field.
    """
    if isinstance(request, FetchRequest):
        if version < FIRST_WITH_REPLICA_STATE:
            request.replica_id = request.replica_state.replica_id
            request.replica_state = FetchRequest.ReplicaState()
        if version < FIRST_WITH_IDS and request.forgotten_topics_data:
            keep_requested(request)
    return request
