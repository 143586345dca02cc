"""The controlled shutdown of a broker: its leaderships move to others before it stops.

The controller is asked `controlled.shutdown.max.retries` times, with `controlled.shutdown.retry.backoff.ms`
in between, as in Kafka's `KafkaServer.controlledShutdown`; and, which Kafka does not do, as soon as the
cluster is another than it was at the last answer. So brokers that stop side by side sit out no pause: the
last of them sees that it is alone.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from kcompat.peer.errors import PeerError
from kcompat.store.interface import SessionState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kcompat.cluster.image import ClusterImage
    from kcompat.cluster.metadata_cache import MetadataCache
    from kcompat.config.broker import BrokerConfig
    from kcompat.controller.shutdown import StillLed
    from kcompat.promise import Promise
    from kcompat.store.interface import MetadataStore

T = TypeVar("T")

logger = logging.getLogger(__name__)


class Departure:
    """The leave that one broker takes."""

    def __init__(
        self,
        broker_id: int,
        ask: Callable[[], Promise[StillLed]],
        cluster: MetadataCache,
        session: MetadataStore,
        config: BrokerConfig,
    ) -> None:
        """`ask` has the controller move leaderships, and tells what is left; it may fail with PeerError."""
        self._broker_id = broker_id
        self._ask = ask
        self._cluster = cluster
        self._session = session
        self._attempts = config.integer("controlled.shutdown.max.retries")
        self._pause_s = config.integer("controlled.shutdown.retry.backoff.ms") / 1000
        pauses_s = self._pause_s * (self._attempts - 1)
        self._patience_s = pauses_s + config.integer("request.timeout.ms") / 1000

    async def hand_over(self) -> None:
        """Have others lead what this broker leads. A broker that is alone has nobody to hand it to.

        It takes no longer than the pauses and one request may take; and no longer than a pause without the
        store, since a broker that is cut off from that is soon taken for dead.
        """
        try:
            async with asyncio.timeout(self._patience_s) as limit:
                with self._store_needed(limit):
                    await self._try_often()
        except TimeoutError:
            logger.warning("leaderships were not handed over in time")

    @contextmanager
    def _store_needed(self, limit: asyncio.Timeout) -> Iterator[None]:
        """Meanwhile the limit comes closer when the store is cut off."""
        loop = asyncio.get_running_loop()

        def told(state: SessionState) -> None:
            deadline = limit.when()
            if state is not SessionState.CONNECTED and deadline is not None:
                limit.reschedule(min(deadline, loop.time() + self._pause_s))

        told(self._session.state)
        watch = self._session.subscribe(told)
        try:
            yield
        finally:
            watch.cancel()

    async def _try_often(self) -> None:
        loop, changed = asyncio.get_running_loop(), asyncio.Event()
        self._cluster.subscribe(lambda *_: changed.set())
        for left in reversed(range(self._attempts)):
            next_s = loop.time() + self._pause_s
            while self._cluster.image.brokers.keys() - {self._broker_id}:
                before = self._cluster.image
                problem, still_led = await self._attempt()
                if problem is None:
                    return
                logger.warning("leaderships were not handed over: %s", problem)
                if not left:
                    return
                was = _what_counts(before, still_led)
                try:
                    async with asyncio.timeout_at(next_s):
                        while _what_counts(self._cluster.image, still_led) == was:
                            changed.clear()
                            await changed.wait()
                except TimeoutError:
                    break

    async def _attempt(self) -> tuple[str | None, Sequence[tuple[str, int]]]:
        """Ask once; what keeps this broker from stopping, if anything does, and what it leads then."""
        try:
            answer = await _arrival(self._ask())
        except PeerError as fault:
            return str(fault), ()
        if answer.error:
            return answer.error.message, ()
        names = ", ".join(f"{topic}-{index}" for topic, index in answer.partitions)
        return f"nobody else can lead {names}" if names else None, answer.partitions


def _what_counts(image: ClusterImage, still_led: Sequence[tuple[str, int]]) -> tuple[object, ...]:
    """Return what the controller's answer depends on: live brokers, the controller, states of partitions."""
    return image.brokers.keys(), image.controller_id, [image.partition(*each) for each in still_led]


async def _arrival(promise: Promise[T]) -> T:
    """The value of a promise, or what it fails with. It may come when nobody waits for it any more."""
    arrived = asyncio.Event()
    promise.then(lambda _: arrived.set(), lambda _: arrived.set())
    await arrived.wait()
    return promise.value
