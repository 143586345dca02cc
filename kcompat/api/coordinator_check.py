"""Delays responses that name a coordinator until the coordinator can be reached.

A coordinator that was killed stays in the cluster image until its failure is detected, which takes some
tenths of a second. A client that is sent to it meanwhile has its connection refused and retries only after a
pause: one second in librdkafka. The response therefore waits for the controller's decision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from kcompat.promise import Promise
from kcompat.replication.purgatory import Purgatory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcompat.clock import Clock
    from kcompat.cluster.metadata_cache import MetadataCache

R = TypeVar("R")

PATIENCE_MS: Final = 1000
"""Longest time in ms that a response waits."""
_CHANGED: Final = "changed"
"""Purgatory key of all waiting responses."""


class Reachable(Protocol):
    """The state of connections to other brokers: `kcompat.peer.reachability.Reachability`."""

    def is_doubtful(self, broker_id: int) -> bool:
        """Return whether it is unknown if the broker is reachable."""

    def is_refused(self, broker_id: int) -> bool:
        """Return whether the port of the broker refused the last connection."""


class CoordinatorCheck:
    """The check of the coordinators that this broker names in responses."""

    def __init__(
        self,
        cluster: MetadataCache,
        clock: Clock,
        reachability: Callable[[Callable[[], object]], Reachable],
    ) -> None:
        """`reachability(callback)` makes the `Reachable`; `callback()` is called when a doubtful broker is
        reached.
        """
        self._cluster = cluster
        self._waiting = Purgatory(clock)
        self._reachable = reachability(self._look_again)
        cluster.subscribe(lambda *_: self._look_again())

    def once_settled(self, coordinators: Callable[[], Iterable[int]], answer: Callable[[], R]) -> Promise[R]:
        """Promise `answer()`, called once none of the brokers `coordinators()` is doubtful, or after
        `PATIENCE_MS`.
        """

        def is_settled() -> bool:
            return not any(map(self._is_doubtful, coordinators()))

        if is_settled():
            return Promise.resolved(answer())
        return self._waiting.wait(_Question(is_settled, answer), (_CHANGED,), PATIENCE_MS).promise

    def may_name(self, broker_id: int) -> bool:
        """Return whether clients may be sent to a broker: its port did not refuse the last connection."""
        return not self._reachable.is_refused(broker_id)

    def _is_doubtful(self, broker_id: int) -> bool:
        """Return whether a broker may have failed.

        A broker that is presumed dead still leads in this image; the next metadata update names the new
        leader.
        """
        return broker_id in self._cluster.image.presumed_dead or self._reachable.is_doubtful(broker_id)

    def _look_again(self) -> None:
        self._waiting.wake(_CHANGED)


class _Question(Generic[R]):
    """A `Waiter` that completes when no coordinator is doubtful."""

    def __init__(self, is_settled: Callable[[], bool], answer: Callable[[], R]) -> None:
        self._is_settled = is_settled
        self._answer = answer

    def try_complete(self, _: object) -> R | None:
        return self._answer() if self._is_settled() else None

    def expire(self) -> R:
        return self._answer()
