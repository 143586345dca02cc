"""The controlled shutdown of a broker: its leaderships move to others before it stops.

As in Kafka's `KafkaServer.controlledShutdown`, the controller gets up to `controlled.shutdown.max.retries`
requests, with `controlled.shutdown.retry.backoff.ms` in between. Unlike in Kafka, the next request is also
sent as soon as the cluster has changed since the last answer. So brokers that stop concurrently wait for no
pause: the last of them sees that it is alone.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from kcompat.logger_names import CONTROLLER
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

logger = logging.getLogger(CONTROLLER)


class Departure:
    """The controlled shutdown of one broker."""

    def __init__(
        self,
        broker_id: int,
        ask: Callable[[], Promise[StillLed]],
        cluster: MetadataCache,
        session: MetadataStore,
        config: BrokerConfig,
    ) -> None:
        """Prepare the shutdown. `ask` requests the move from the controller and promises the partitions that
        this broker still leads; it may fail with PeerError.
        """
        self._broker_id = broker_id
        self._ask = ask
        self._cluster = cluster
        self._session = session
        self._attempts = config.integer("controlled.shutdown.max.retries")
        self._pause_s = config.integer("controlled.shutdown.retry.backoff.ms") / 1000
        pauses_s = self._pause_s * (self._attempts - 1)
        self._patience_s = pauses_s + config.integer("request.timeout.ms") / 1000

    async def hand_over(self) -> None:
        """Move the leaderships of this broker to others, unless it is the only broker.

        Takes at most as long as all pauses and one request together. If the store is cut off, only one pause
        is left, since the broker's session expires soon after.
        """
        try:
            async with asyncio.timeout(self._patience_s) as limit:
                with self._store_needed(limit):
                    await self._try_often()
        except TimeoutError:
            logger.warning("leaderships were not handed over in time")

    @contextmanager
    def _store_needed(self, limit: asyncio.Timeout) -> Iterator[None]:
        """Bring the deadline `limit` forward while the store is cut off, within the `with` block."""
        loop = asyncio.get_running_loop()

        def changed(state: SessionState) -> None:
            deadline = limit.when()
            if state is not SessionState.CONNECTED and deadline is not None:
                limit.reschedule(min(deadline, loop.time() + self._pause_s))

        changed(self._session.state)
        watch = self._session.subscribe(changed)
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
        """Send one request; return the reason that keeps this broker from stopping, or None, and the
        partitions that it still leads.
        """
        try:
            answer = await _arrival(self._ask())
        except PeerError as fault:
            return str(fault), ()
        if answer.error:
            return answer.error.message, ()
        names = ", ".join(f"{topic}-{index}" for topic, index in answer.partitions)
        return f"no other broker can lead {names}" if names else None, answer.partitions


def _what_counts(image: ClusterImage, still_led: Sequence[tuple[str, int]]) -> tuple[object, ...]:
    """Return the state that the controller's answer depends on: live brokers, the controller, states of
    partitions.
    """
    return image.brokers.keys(), image.controller_id, [image.partition(*each) for each in still_led]


async def _arrival(promise: Promise[T]) -> T:
    """Wait for a promise; return its value or raise its failure. Unlike a future, it may complete after the
    wait ends.
    """
    arrived = asyncio.Event()
    promise.then(lambda _: arrived.set(), lambda _: arrived.set())
    await arrived.wait()
    return promise.value
