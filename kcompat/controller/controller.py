"""The controller at work: one queue of events, decided one at a time, their writes made durable before anyone
is told.

Kafka's counterpart: `KafkaController`. The decisions are pure and live in the modules beside this one; here
is what they need: the queue, the store, the brokers. The answers of brokers are events too, and go before
what somebody asks for: what was begun is finished first.

Brokers ask by `Decisions` and get promises. A promise is completed once this controller's own broker took its
roles and saw the new image, and what that led to is decided as well; so a client that is told of its new
topic can use it. Other brokers are told, but nobody waits for them.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from kcompat.cluster.store import BadVersionError, Check, SessionExpiredError, StoreUnavailableError
from kcompat.cluster.znodes import CONTROLLER_EPOCH
from kcompat.controller import election, loading
from kcompat.controller.channels import Channel, event_of_reply
from kcompat.controller.leadership import BrokerStarted
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.clock import Clock
    from kcompat.cluster.news import BrokerPort, News, Reply
    from kcompat.cluster.store import MetadataStore
    from kcompat.cluster.znodes import BrokerRegistration
    from kcompat.controller.state import ControllerState, Decision, Event

T = TypeVar("T")

MAX_UNANSWERED = 10_000
"""With so many events unanswered, others are refused; a connection waits for one at a time."""

_ANSWER, _ASKED, _STOP = range(3)
"""Urgency in the queue, lowest first."""

_log = logging.getLogger(__name__)


class Controller:
    """The controller of a cluster, beside the broker whose session won the election."""

    def __init__(
        self, broker_id: int, store: MetadataStore, brokers: Mapping[int, BrokerPort], clock: Clock
    ) -> None:
        """`brokers` are those that can be reached, this controller's own (`broker_id`) among them."""
        self._broker_id = broker_id
        self._store = store
        self._clock = clock
        self._channels = {each: Channel(each, port) for each, port in brokers.items()}
        self._queue: asyncio.PriorityQueue[_Queued] = asyncio.PriorityQueue()
        self._numbers = itertools.count()
        self._errands: dict[_Errand[Any], None] = {}
        self._state: ControllerState | None = None
        self._running: asyncio.Task[None] | None = None
        self.broker_epoch = -1
        """The czxid of this broker's registration; -1 before there is one."""

    # -- life --------------------------------------------------------------------------------------------

    async def start(self, registration: BrokerRegistration) -> None:
        """Register this broker, win the election, load the cluster, take the leaderships, then serve events.

        Raises `BrokerIdInUseError`, `ControllerElsewhereError`, `DamagedZnodeError` and the store's errors.
        """
        now_ms = self._clock.now_ms()
        this_broker = await election.register_broker(self._store, self._broker_id, registration, now_ms)
        self.broker_epoch = this_broker.epoch
        epoch, epoch_version = await election.elect(self._store, self._broker_id, now_ms)
        self._state = await loading.load(self._store, self._broker_id, epoch, epoch_version)
        errand = _Errand(BrokerStarted(this_broker))
        self._errands[errand] = None
        await self._perform(errand.event, errand)
        self._settle(errand)
        self._running = asyncio.create_task(self._run(), name="controller")
        taken = asyncio.get_running_loop().create_future()
        errand.promise.then(taken.set_result, taken.set_exception)
        await taken

    async def stop(self) -> None:
        """Stop after the event in hand and the answers that have come. Waiting events are refused with
        NOT_CONTROLLER; those that wait for a broker's answer end with REQUEST_TIMED_OUT.
        """
        running, self._running = self._running, None
        if running is not None:
            self._refuse([errand for errand in self._errands if not errand.is_begun])
            self._put(_STOP, None, None)
            await running

    # -- events ------------------------------------------------------------------------------------------

    def submit(self, event: Event[T]) -> Promise[T]:
        """Queue an event. Refused with NOT_CONTROLLER out of office, REQUEST_TIMED_OUT if too many wait."""
        errand = _Errand(event)
        if self._running is None:
            errand.refuse(ErrorCode.NOT_CONTROLLER)
        elif len(self._errands) >= MAX_UNANSWERED:
            errand.refuse(ErrorCode.REQUEST_TIMED_OUT)
        else:
            self._errands[errand] = None
            self._put(_ASKED, event, errand)
        return errand.promise

    def _put(self, urgency: int, event: Event[Any] | None, errand: _Errand[Any] | None) -> None:
        self._queue.put_nowait(_Queued(urgency, next(self._numbers), event, errand))

    async def _run(self) -> None:
        while (event := (queued := await self._queue.get()).event) is not None:
            if not await self._handle(event, queued.errand):
                break
        self._running = None
        for channel in self._channels.values():
            channel.close()
        self._refuse(list(self._errands))

    async def _handle(self, event: Event[Any], errand: _Errand[Any] | None) -> bool:
        """Act on one event; False when this broker is the controller no more."""
        if errand is not None and errand.promise.done and not errand.is_begun:
            return True  # refused while it waited
        try:
            await self._perform(event, errand)
            if errand is not None:
                self._settle(errand)
        except (BadVersionError, SessionExpiredError):
            _log.exception("the controller has moved: this broker resigns")
            return False
        except StoreUnavailableError:
            _log.exception("the metadata store refused a write; nothing changed")
            self._fail(errand, ErrorCode.KAFKA_STORAGE_ERROR)
        except Exception:
            _log.exception("a fault in %s; the controller goes on", type(event).__name__)
            self._fail(errand, ErrorCode.UNKNOWN_SERVER_ERROR)
        return True

    async def _perform(self, event: Event[T], errand: _Errand[Any] | None) -> None:
        """Decide, make durable, tell the brokers."""
        assert self._state is not None
        if errand is not None:
            errand.is_begun = True
        decision = event.decide(self._state)
        if decision.writes:
            guard = Check(CONTROLLER_EPOCH, self._state.epoch_version)
            await self._store.multi([guard, *decision.writes])
        self._state = decision.state
        if errand is not None and errand.decision is None:
            errand.decision = decision
        for broker_id, news in decision.requests:
            self._tell(broker_id, news, errand)

    def _tell(self, broker_id: int, news: News, errand: _Errand[Any] | None) -> None:
        channel = self._channels.get(broker_id)
        if channel is None:
            _log.warning("%s is not sent to broker %d: no way leads there", type(news).__name__, broker_id)
            return
        if broker_id != self._broker_id:
            errand = None
        if errand is not None:
            errand.outstanding += 1
        channel.put(news, partial(self._answered, broker_id, news, errand))

    def _answered(self, broker_id: int, news: News, errand: _Errand[Any] | None, reply: Reply) -> None:
        if reply.error:
            _log.error("broker %d refused %s: %s", broker_id, type(news).__name__, reply.error.name)
        if reply.partitions:
            _log.error("broker %d failed replicas: %s", broker_id, reply.partitions)
        event = event_of_reply(broker_id, news, reply)
        if event is not None:
            self._put(_ANSWER, event, errand)
        elif errand is not None:
            self._settle(errand)

    # -- those who asked ---------------------------------------------------------------------------------

    def _settle(self, errand: _Errand[Any]) -> None:
        """An event or an answer of an errand is done with; the last one completes it."""
        errand.outstanding -= 1
        if errand.outstanding == 0:
            self._errands.pop(errand, None)
            assert self._state is not None
            errand.complete(self._state)

    def _fail(self, errand: _Errand[Any] | None, error: ErrorCode) -> None:
        if errand is not None:
            self._errands.pop(errand, None)
            errand.refuse(error)

    def _refuse(self, errands: list[_Errand[Any]]) -> None:
        """Answer errands that end here. One that was decided may have taken effect: REQUEST_TIMED_OUT."""
        for errand in errands:
            decided = errand.decision is not None
            self._fail(errand, ErrorCode.REQUEST_TIMED_OUT if decided else ErrorCode.NOT_CONTROLLER)


class _Errand(Generic[T]):
    """An event that somebody asked for, until the controller's own broker has done what follows from it."""

    def __init__(self, event: Event[T]) -> None:
        self.event = event
        self.promise: Promise[T] = Promise()
        self.is_begun = False
        self.decision: Decision[T] | None = None
        self.outstanding = 1
        """The event itself, and the requests that are not answered yet."""

    def complete(self, state: ControllerState) -> None:
        """Answer; `state` is the one after the last event."""
        if self.decision is not None:
            revise = self.decision.revise
            self.promise.complete(self.decision.answer if revise is None else revise(state))

    def refuse(self, error: ErrorCode) -> None:
        """Answer with an error."""
        try:
            self.promise.complete(self.event.refused(error))
        except Exception as fault:
            self.promise.fail(fault)


class _Queued(NamedTuple):
    """An entry of the queue; `number` keeps the order among equals. One without an event ends the loop."""

    urgency: int
    number: int
    event: Event[Any] | None
    errand: _Errand[Any] | None
