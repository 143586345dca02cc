"""The running brokers of one cluster in this process, as instrumentation reads them."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

from kcompat.errors import RequestError, UsageError
from kcompat.instrumentation.turns import turns
from kcompat.protocol.errors import ErrorCode
from kcompat.wording import meant_name

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence

    from kcompat.cluster.image import ClusterImage, TopicImage
    from kcompat.node.broker import BrokerNode
    from kcompat.node.parts import Parts
    from kcompat.replication.partition import Partition
    from kcompat.replication.purgatory import Delayed

ELECTION_TIMEOUT_S: Final = 30.0
"""Longest time in seconds to wait for the election of a leader."""
_MOST_LISTED: Final = 10
"""Maximum number of topics that an error message names."""


class Brokers:
    """The running brokers of a cluster. All methods belong to the event loop that runs the brokers."""

    def __init__(self, nodes: Callable[[], Sequence[BrokerNode]]) -> None:
        """Read from the brokers that `nodes()` returns at the time, the first of which knows the cluster
        best.
        """
        self._nodes = nodes

    @property
    def parts(self) -> list[Parts]:
        """The parts of each running broker. Raises UsageError if no broker is running."""
        found = [node.parts for node in self._nodes()]
        if not found:
            raise UsageError("no broker of the cluster is running: start one first")
        return found

    @asynccontextmanager
    async def steady(self) -> AsyncIterator[None]:
        """Wait for a reset or restore that is running, and delay others during the `with` block, which must
        not be nested.
        """
        async with AsyncExitStack() as undo:
            for node in self._nodes():
                await undo.enter_async_context(turns(node).shared())
            yield

    @property
    def image(self) -> ClusterImage:
        """The metadata image of the broker that knows the cluster best."""
        return self.parts[0].storage.metadata.image

    @property
    def now_ms(self) -> int:
        """The time of the brokers' clock, in ms since 1970."""
        return self.parts[0].environment.clock.now_ms()

    def topic(self, name: str) -> TopicImage:
        """Return a topic. Raises UsageError if there is none of this name."""
        topics = self.image.topics
        if name not in topics:
            meant = meant_name(name, topics)
            hint = _listed(_own(topics.values())) if meant is None else f"did you mean {meant!r}?"
            raise UsageError(f"there is no topic {name!r}: {hint}")
        return topics[name]

    def replicas(self, topic: str) -> Iterator[Partition]:
        """Yield the replicas of all partitions of a topic on the running brokers."""
        for parts in self.parts:
            yield from parts.storage.replicas.of(topic)

    def home_of(self, topic: str, index: int) -> tuple[Parts, Partition] | None:
        """Return the broker that leads a partition, and the partition there; None if no running broker does.

        If an isolated broker still counts itself as the leader, the broker with the newest epoch is returned.
        """
        found = [(parts, parts.storage.replicas.get(topic, index)) for parts in self.parts]
        leaders = [(parts, replica) for parts, replica in found if replica is not None and replica.is_leader]
        return max(leaders, key=lambda each: each[1].role.leader_epoch, default=None)

    def leader_of(self, topic: str, index: int) -> tuple[Parts, Partition]:
        """Return the broker that leads a partition, and the partition there. Raises RequestError if there is
        no leader.
        """
        found = self.home_of(topic, index)
        if found is None:
            info = self.image.partition(topic, index)
            replicas = "its replicas" if info is None else ", ".join(map(str, info.replicas))
            raise RequestError(
                ErrorCode.LEADER_NOT_AVAILABLE.name,
                f"partition {index} of {topic!r} has no leader: start one of its brokers ({replicas})",
            )
        return found

    async def elected(self, topic: str, index: int) -> tuple[Parts, Partition]:
        """Return the broker that leads a partition, and the partition there, after waiting for an election if
        none leads it yet.

        Raises:
            RequestError: there is no leader, and no broker can be elected, or none is elected within 30
                seconds.
        """

        def is_settled() -> bool:
            return self.home_of(topic, index) is not None or not self._can_be_elected(topic, index)

        with suppress(TimeoutError):
            async with asyncio.timeout(ELECTION_TIMEOUT_S):
                await self.until(is_settled, topic)
        return self.leader_of(topic, index)

    async def until_led(self, topic: str) -> None:
        """Wait until a topic that is being created exists and all its partitions have leaders. Raises
        TimeoutError after 30 seconds.
        """

        def is_led() -> bool:
            image = self.image.topics.get(topic)
            return image is not None and all(self.home_of(topic, index) for index in image.partitions)

        try:
            async with asyncio.timeout(ELECTION_TIMEOUT_S):
                await self.until(is_led, topic)
        except TimeoutError as error:
            raise TimeoutError(
                f"the new topic {topic!r} has no leaders within {ELECTION_TIMEOUT_S:.0f} s"
            ) from error

    def _can_be_elected(self, topic: str, index: int) -> bool:
        """Return whether a running broker is in the ISR."""
        info = self.image.partition(topic, index)
        running = {parts.config.current.broker_id for parts in self.parts}
        return info is not None and not running.isdisjoint(info.isr)

    async def until(self, condition: Callable[[], bool], topic: str) -> None:
        """Wait until a condition is true. It is checked after each change of the metadata, and each change of
        the high watermark or the role of a partition of the topic.
        """
        while not condition():
            changed = asyncio.Event()
            with ExitStack() as undo:
                for parts in self.parts:
                    undo.enter_context(_Watch(parts, topic, changed))
                await changed.wait()


class _Watch:
    """Watch over the metadata image of a broker, and its replicas of a topic; sets an event at a change."""

    def __init__(self, parts: Parts, topic: str, changed: asyncio.Event) -> None:
        storage = parts.storage
        self._metadata = storage.metadata
        self._fetches = storage.replicas.fetches
        self._replicas = storage.replicas.of(topic)
        self._changed = changed
        self._waiting: Delayed[bool] | None = None

    def __enter__(self) -> None:
        self._metadata.subscribe(self._note)
        self._waiting = self._fetches.wait(self, self._replicas, timeout_ms=None)

    def __exit__(self, *_: object) -> None:
        self._metadata.unsubscribe(self._note)
        if self._waiting is not None:
            self._waiting.expire()

    def _note(self, *_: object) -> None:
        self._changed.set()

    def try_complete(self, _replica: object) -> bool:
        """Set the event, and end the wait."""
        self._changed.set()
        return True

    def expire(self) -> bool:
        """End the wait without an event."""
        return False


def _own(topics: Iterable[TopicImage]) -> list[str]:
    """Return the names of the topics that do not belong to the broker itself."""
    return [topic.name for topic in topics if not topic.is_internal]


def _listed(names: Collection[str]) -> str:
    if not names:
        return "there are no topics yet"
    shown = ", ".join(repr(name) for name in sorted(names)[:_MOST_LISTED])
    more = len(names) - _MOST_LISTED
    return f"the topics are {shown}" + (f" and {more} more" if more > 0 else "")
