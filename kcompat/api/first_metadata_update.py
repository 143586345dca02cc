"""The wait of requests about the cluster for the controller's first metadata update.

A broker that has just started serves clients some milliseconds before its controller reaches it. Until then
its image holds no other broker and no topic. From version 2.10 on, librdkafka takes a response with this
image for the whole cluster: it drops every broker that it knows, has none left to connect to, and is silent
for minutes (its issue 5301). A request about the cluster therefore waits for the update. If none comes in
time, the response names this broker alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

from kcompat.promise import Promise
from kcompat.replication.purgatory import Purgatory

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.clock import Clock
    from kcompat.cluster.image import ClusterImage
    from kcompat.cluster.metadata_cache import MetadataCache

R = TypeVar("R")

LONGEST_WAIT_MS: Final = 1000
"""Longest time in ms that a request waits, below the timeout of any client. The shortest timeout is that of
kafka-python: 2 s while it probes the version of a broker.
"""
_UPDATED: Final = "updated"
"""Purgatory key of every waiting request."""


class FirstMetadataUpdate:
    """The first metadata update of a starting broker, which requests about the cluster wait for."""

    def __init__(self, cluster: MetadataCache, clock: Clock) -> None:
        self._cluster = cluster
        self._waiting = Purgatory(clock)
        cluster.subscribe(self._image_changed)

    def wait_then(self, answer: Callable[[], R | Promise[R]]) -> R | Promise[R]:
        """Return `answer()`, called at once after the first update, else when the update comes or after
        `LONGEST_WAIT_MS`.
        """
        if self._cluster.image.is_from_controller:
            return answer()
        delayed = self._waiting.wait(_WaitingRequest(answer), (_UPDATED,), LONGEST_WAIT_MS)
        return delayed.promise.flat_map(lambda answered: answered)

    def _image_changed(self, _: ClusterImage, new: ClusterImage) -> None:
        if new.is_from_controller:
            self._waiting.wake(_UPDATED)


class _WaitingRequest(Generic[R]):
    """A request in the purgatory, which the update or the timeout answers."""

    def __init__(self, answer: Callable[[], R | Promise[R]]) -> None:
        self._answer = answer

    def try_complete(self, _: object) -> Promise[R]:
        return self.expire()

    def expire(self) -> Promise[R]:
        answer = self._answer()
        return answer if isinstance(answer, Promise) else Promise.resolved(answer)
