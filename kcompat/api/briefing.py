"""Requests about the cluster that come before the controller's first metadata update.

A broker that has just started is there for clients some milliseconds before its controller reaches it. It
could show no broker and no topic yet. From version 2.10 on, librdkafka takes that for the whole cluster: it
lets go of every broker that it knows, has nobody left to ask, and is silent for minutes (its issue 5301). So
such a question waits. If no controller comes, this broker at least shows itself.
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

PATIENCE_MS: Final = 1000
"""How long a question waits: less than any client waits for an answer. The shortest is kafka-python's 2 s
while it finds out who it talks to.
"""
_TOLD: Final = "told"
"""The key of all that wait."""


class Briefing:
    """The wait for the first metadata update of one broker, from its start to its stop."""

    def __init__(self, cluster: MetadataCache, clock: Clock) -> None:
        self._cluster = cluster
        self._waiting = Purgatory(clock)
        cluster.subscribe(self._image_changed)

    def once_told(self, answer: Callable[[], R | Promise[R]]) -> R | Promise[R]:
        """`answer()`: now, if the controller has told this broker of the cluster, else once it has, or when
        `PATIENCE_MS` are over.
        """
        if self._cluster.image.is_told:
            return answer()
        asked = self._waiting.wait(_Question(answer), (_TOLD,), PATIENCE_MS)
        return asked.promise.flat_map(lambda given: given)

    def _image_changed(self, _: ClusterImage, new: ClusterImage) -> None:
        if new.is_told:
            self._waiting.wake(_TOLD)


class _Question(Generic[R]):
    """A waiter that is answered by whatever happens."""

    def __init__(self, answer: Callable[[], R | Promise[R]]) -> None:
        self._answer = answer

    def try_complete(self, _: object) -> Promise[R]:
        return self.expire()

    def expire(self) -> Promise[R]:
        answer = self._answer()
        return answer if isinstance(answer, Promise) else Promise.resolved(answer)
