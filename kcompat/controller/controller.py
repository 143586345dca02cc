"""The controller at work: one queue of events, decided one at a time, their writes made durable before anyone
is told.

Answers to Kafka's `KafkaController`. The decisions are pure and live in the modules beside this one; here is
what they need: the queue, the store, the brokers. Brokers ask by `Decisions` and get promises; a promise is
completed after the brokers took their roles and saw the new image, so a client that heard of its topic can
use it.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, TypeVar

from kcompat.cluster.store import BadVersionError, Check, SessionExpiredError, StoreUnavailableError
from kcompat.cluster.znodes import CONTROLLER_EPOCH
from kcompat.controller import election, loading
from kcompat.controller.deletion import ResumeDeletion
from kcompat.controller.leadership import BrokerStarted, ReplicasFailed
from kcompat.controller.state import (
    LeaderAndIsr,
    StopReplica,
    UpdateMetadata,
)
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.clock import Clock
    from kcompat.cluster.store import MetadataStore
    from kcompat.cluster.znodes import BrokerRegistration
    from kcompat.controller.state import (
        BrokerPort,
        ControllerState,
        Event,
        PartitionErrors,
        Request,
    )

T = TypeVar("T")

MAX_QUEUED_EVENTS = 10_000
"""Beyond these, events are refused at once; a connection waits for one at a time."""

_log = logging.getLogger(__name__)


class Controller:
    """The controller of a cluster, beside the broker whose session won the election."""

    def __init__(
        self,
        broker_id: int,
        store: MetadataStore,
        broker: BrokerPort,
        clock: Clock,
    ) -> None:
        self._broker_id = broker_id
        self._store = store
        self._broker = broker
        self._clock = clock
        self._events: asyncio.Queue[tuple[Event[Any], Promise[Any]] | None] = asyncio.Queue(MAX_QUEUED_EVENTS)
        self._state: ControllerState | None = None
        self._running: asyncio.Task[None] | None = None

    # -- life --------------------------------------------------------------------------------------------

    async def start(self, registration: BrokerRegistration) -> None:
        """Register this broker, win the election, load the cluster, take the leaderships, then serve events.

        Raises `BrokerIdInUseError`, `ControllerElsewhereError`, `DamagedZnodeError` and the store's errors.
        """
        now_ms = self._clock.now_ms()
        this_broker = await election.register_broker(self._store, self._broker_id, registration, now_ms)
        epoch, epoch_version = await election.elect(self._store, self._broker_id, now_ms)
        loaded = await loading.load(self._store, self._broker_id, epoch, epoch_version)
        self._state = loaded.state
        await self._perform(BrokerStarted(this_broker))
        if loaded.deleting:
            await self._perform(ResumeDeletion(loaded.deleting, loaded.deleting_with_configs))
        self._running = asyncio.create_task(self._run(), name="controller")

    async def stop(self) -> None:
        """Stop after the event in hand; the ones behind it are refused with NOT_CONTROLLER."""
        running, self._running = self._running, None
        self._refuse_queued()
        if running is not None:
            self._events.put_nowait(None)
            await running

    # -- one event at a time -----------------------------------------------------------------------------

    def submit(self, event: Event[T]) -> Promise[T]:
        """Queue an event. Refused with NOT_CONTROLLER out of office, REQUEST_TIMED_OUT if too many wait."""
        promise: Promise[T] = Promise()
        if self._running is None:
            promise.complete(event.refused(ErrorCode.NOT_CONTROLLER))
            return promise
        try:
            self._events.put_nowait((event, promise))
        except asyncio.QueueFull:
            promise.complete(event.refused(ErrorCode.REQUEST_TIMED_OUT))
        return promise

    async def _run(self) -> None:
        while (queued := await self._events.get()) is not None:
            event, promise = queued
            try:
                answer = await self._perform(event)
            except (BadVersionError, SessionExpiredError):
                _log.exception("the controller has moved: this broker resigns")
                self._running = None
                promise.complete(event.refused(ErrorCode.NOT_CONTROLLER))
                self._refuse_queued()
                return
            except StoreUnavailableError:
                _log.exception("the metadata store refused a write; nothing changed")
                answer = event.refused(ErrorCode.KAFKA_STORAGE_ERROR)
            except Exception:
                _log.exception("a fault in %s; the controller goes on", type(event).__name__)
                answer = event.refused(ErrorCode.UNKNOWN_SERVER_ERROR)
            promise.complete(answer)

    def _refuse_queued(self) -> None:
        while not self._events.empty():
            queued = self._events.get_nowait()
            if queued is not None:
                event, promise = queued
                promise.complete(event.refused(ErrorCode.NOT_CONTROLLER))

    async def _perform(self, event: Event[T]) -> T:
        """Decide, make durable, tell the brokers; then the same for what follows from it."""
        assert self._state is not None
        decision = event.decide(self._state)
        if decision.writes:
            guard = Check(CONTROLLER_EPOCH, self._state.epoch_version)
            await self._store.multi([guard, *decision.writes])
        self._state = decision.state
        failed: dict[tuple[str, int], ErrorCode] = {}
        for request in decision.requests:
            failed.update(self._tell(request))
        if decision.then is not None:
            return await self._perform(decision.then(failed))
        if failed:
            _log.error("replicas failed: %s", failed)
            await self._perform(ReplicasFailed(self._broker_id, frozenset(failed)))
        return decision.answer

    def _tell(self, request: Request) -> PartitionErrors:
        match request:
            case LeaderAndIsr(partitions):
                return self._broker.leader_and_isr(partitions)
            case StopReplica(partitions):
                return self._broker.stop_replica(partitions, delete=True)
            case UpdateMetadata(image):
                self._broker.update_metadata(image)
                return {}
