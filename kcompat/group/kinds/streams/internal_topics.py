"""Creation of the internal topics of streams applications, by the current controller.

No request waits for the creation: members send heartbeats until the topics exist. A topic whose creation
failed is tried again after a pause, and until then members get the error. Kafka's counterpart:
`createStreamsInternalTopics` of `AutoTopicCreationManager`.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kcompat.controller.values import USE_DEFAULT, TopicResult, TopicSpec
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kcompat.clock import Clock
    from kcompat.group.kinds.streams.configured import InternalTopic
    from kcompat.promise import Promise

    MakeTopics = Callable[[Sequence[TopicSpec]], Promise[list[TopicResult]]]

logger = logging.getLogger(__name__)


class _Failure(NamedTuple):
    reason: str
    until_ms: float


class InternalTopics:
    """Topics that are being created, and those whose creation failed."""

    def __init__(self, create: MakeTopics, clock: Clock) -> None:
        self._create = create
        self._clock = clock
        self._in_flight: set[str] = set()
        self._failures: dict[str, _Failure] = {}

    def make(self, topics: Mapping[str, InternalTopic], backoff_ms: int) -> None:
        """Create these topics, except those that are being created; pause for `backoff_ms` after a
        failure.
        """
        self._forget_old_failures()
        wanted = [
            topic
            for name, topic in topics.items()
            if name not in self._in_flight and name not in self._failures
        ]
        if not wanted:
            return
        names = [topic.name for topic in wanted]
        self._in_flight.update(names)
        self._create([_spec(topic) for topic in wanted]).then(
            partial(self._made, names, backoff_ms), partial(self._failed, names, backoff_ms)
        )

    def _made(self, names: list[str], backoff_ms: int, results: Iterable[TopicResult]) -> None:
        self._in_flight.difference_update(names)
        until_ms = self._clock.now_ms() + backoff_ms
        for result in results:
            if result.error is not ErrorCode.NONE:
                reason = result.message or result.error.message
                logger.warning("Topic %s of a streams application was not created: %s", result.name, reason)
                self._failures[result.name] = _Failure(reason, until_ms)

    def _failed(self, names: list[str], backoff_ms: int, fault: Exception) -> None:
        logger.error("Topics of a streams application were not created", exc_info=fault)
        failed = [TopicResult(name, ErrorCode.UNKNOWN_SERVER_ERROR) for name in names]
        self._made(names, backoff_ms, failed)

    def failures(self, names: Iterable[str]) -> dict[str, str]:
        """Return the recent errors for these topics."""
        self._forget_old_failures()
        return {name: self._failures[name].reason for name in names if name in self._failures}

    def _forget_old_failures(self) -> None:
        now_ms = self._clock.now_ms()
        for name in [name for name, failure in self._failures.items() if failure.until_ms <= now_ms]:
            del self._failures[name]


def _spec(topic: InternalTopic) -> TopicSpec:
    return TopicSpec(
        topic.name, topic.partitions, topic.replication_factor or USE_DEFAULT, configs=topic.configs
    )
