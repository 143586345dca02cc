"""The controller at work: one queue of events, decided one at a time, their writes made durable before anyone
is told.

Kafka's counterpart: `KafkaController`. The decisions are pure and live in the modules beside this one; here
is what they need: the queue, the store, the brokers. The answers of brokers and what others write into the
store become events too, and go before what somebody asks for: what was begun is finished first.

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

from msgspec.structs import replace

from kcompat.controller import loading
from kcompat.controller.brokers import Failover
from kcompat.controller.channels import Channels, OfRegistration, event_of_reply, failures
from kcompat.controller.config_changes import ConfigsHeard
from kcompat.controller.election_requests import BalanceLeaders
from kcompat.controller.processes import ProcessesSeen, watch_over_nobody
from kcompat.controller.put_off import PutOff
from kcompat.controller.small_topics import warn_of_small_topics
from kcompat.controller.watches import AT_THE_BEGINNING, LOOKS, Watches, drop_notifications
from kcompat.controller.writing import ControllerMovedError, Writer
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.store.interface import (
    SessionExpiredError,
    StoreError,
    StoreUnavailableError,
    UnknownOutcomeError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.clock import Clock, Timer
    from kcompat.cluster.feed import MetadataCache
    from kcompat.cluster.news import BrokerPort, News, Reply
    from kcompat.config.feed import ConfigFeed
    from kcompat.controller.election import Elected
    from kcompat.controller.processes import WatchOver
    from kcompat.controller.state import ControllerState, Decision, Event, RegisteredBroker
    from kcompat.controller.watches import Look
    from kcompat.store.interface import MetadataStore

T = TypeVar("T")

MAX_UNANSWERED = 10_000
"""With so many events unanswered, others are refused; a connection waits for one at a time."""

FIRST_BALANCE_MS = 5000
"""From the beginning of a term to the first look at who leads too little, as in Kafka: brokers that start
together are there by then, and what one controller did not come to waits for no whole interval of the next.
"""

_FOUND, _ASKED, _STOP = range(3)
"""Urgency in the queue, lowest first."""

_log = logging.getLogger(__name__)


class Controller:
    """The controller of a cluster, while the session of the broker beside it holds the office. Terms come and
    go: `start` begins one, `resign` and `stop` end it.
    """

    def __init__(
        self,
        broker_id: int,
        store: MetadataStore,
        port_of: Callable[[RegisteredBroker], BrokerPort],
        clock: Clock,
        config: ConfigFeed,
        cluster: MetadataCache,
        watch_over: WatchOver = watch_over_nobody,
    ) -> None:
        """`port_of` leads to a broker, this controller's own (`broker_id`) too, which `config` and `cluster`
        are those of. `watch_over` is told, during a term, of whose processes `processes_seen` is to tell.
        """
        self._broker_id = broker_id
        self._store = store
        self._clock = clock
        self._config = config
        self._channels = Channels(port_of)
        self._watch_over = watch_over
        self._queue: asyncio.PriorityQueue[_Queued] = asyncio.PriorityQueue()
        self._numbers = itertools.count()
        self._errands: dict[_Errand[Any], None] = {}
        self._looks: set[str] = set()
        self._state: ControllerState | None = None
        self._running: asyncio.Task[None] | None = None
        self._watches: Watches | None = None
        self._put_off: PutOff[Event[Any] | _ToLook] = PutOff(clock, self._again)
        self._cluster = cluster
        self._balance: Timer | None = None
        self._gone: Mapping[int, int] = {}  # the brokers whose processes have ended, and their epochs
        config.subscribe(lambda _: self._configs_changed({}))
        cluster.subscribe_to_configs(self._configs_changed)

    # -- terms -------------------------------------------------------------------------------------------

    @property
    def is_active(self) -> bool:
        """Whether a term goes on."""
        return self._running is not None

    async def start(self, elected: Elected, ended: Callable[[], object]) -> None:
        """Begin a term: load the cluster, give every broker its roles, then serve events. Done when the
        broker beside has taken its roles, or the term is over. `ended` is called when it ends other than by
        `stop`. Raises the store's errors and `DamagedZnodeError`.
        """
        self._queue = asyncio.PriorityQueue()
        self._looks.clear()
        self._gone = {}
        begun = asyncio.get_running_loop().create_future()
        self._running = asyncio.create_task(self._serve(elected, begun), name="controller")
        self._running.add_done_callback(partial(self._finished, begun, ended))
        await begun

    def resign(self) -> None:
        """End the term at once: nothing more is written or told."""
        if self._running is not None:
            self._running.cancel()
            self._end()

    async def stop(self) -> None:
        """Stop after the event in hand and the answers that have come. Waiting events are refused with
        NOT_CONTROLLER; those that wait for a broker's answer end with REQUEST_TIMED_OUT.
        """
        running = self._running
        if running is not None:
            self._refuse([errand for errand in self._errands if not errand.is_begun])
            self._put(_STOP, None, None)
            await asyncio.wait([running])

    async def _serve(self, elected: Elected, begun: asyncio.Future[None]) -> None:
        await self._begin(elected, begun)
        while (what := (queued := await self._queue.get()).what) is not None:
            if not await self._handle(what, queued.errand):
                break

    async def _begin(self, elected: Elected, begun: asyncio.Future[None]) -> None:
        """Watch before reading: what changes meanwhile is looked at again."""
        self._watches = Watches(self._store, self._look)
        state = await loading.load(self._store, self._broker_id, elected.epoch, elected.epoch_version)
        await drop_notifications(self._store, state)
        self._state = replace(state, elects_uncleanly=self._elects_uncleanly)
        errand = _Errand(Failover())
        self._errands[errand] = None
        errand.promise.then(lambda _: _settle_once(begun, None))
        await self._perform(errand.event, errand)
        self._settle(errand)
        for path in AT_THE_BEGINNING:
            self._look(path, LOOKS[path])
        self._balance = self._clock.call_later(FIRST_BALANCE_MS, self._first_look)

    def _finished(
        self, begun: asyncio.Future[None], ended: Callable[[], object], task: asyncio.Task[None]
    ) -> None:
        fault = None if task.cancelled() else task.exception()
        is_latest = self._running is task
        if fault is not None and begun.done():
            _log.error("the controller has failed", exc_info=fault)
        _settle_once(begun, fault)
        if is_latest:
            self._end()
            ended()

    def _end(self) -> None:
        self._running = None
        self._channels.close()
        self._watch_over({})
        if self._watches is not None:
            self._watches.close()
        self._put_off.clear()
        if self._balance is not None:
            self._balance.cancel()
        self._refuse(list(self._errands))

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
            self._put_off.retry()  # what was found goes before what is asked
            self._put(_ASKED, event, errand)
        return errand.promise

    def report(self, event: Event[None]) -> None:
        """Queue an event that nobody asked for, before what is asked; ignored out of office."""
        if self._running is not None:
            self._put(_FOUND, event, None)

    def processes_seen(self, gone: Mapping[int, int]) -> None:
        """Take note that the processes of these observed brokers have ended: broker epochs by id."""
        self._gone = gone
        self.report(ProcessesSeen(gone))

    def _again(self, what: Event[Any] | _ToLook) -> None:
        """Queue what the store refused, as things stand now: nothing that came since may be undone by it."""
        match what:
            case _ToLook():
                self._look(what.path, what.how)
            case ConfigsHeard():
                known = self._cluster.image.entity_configs
                self._configs_changed({key: known.get(key, {}) for key in what.changed})
            case ProcessesSeen():
                self.report(ProcessesSeen(self._gone))
            case _:
                self.report(what)

    def _look(self, path: str, how: Look) -> None:
        """Look at something in the store, once for all that has changed there until then."""
        if path not in self._looks:
            self._looks.add(path)
            self._put(_FOUND, _ToLook(path, how), None)

    @property
    def _elects_uncleanly(self) -> bool:
        return self._config.current.get("unclean.leader.election.enable") is True

    def _configs_changed(self, changed: Mapping[tuple[str, str], Mapping[str, str]]) -> None:
        self.report(ConfigsHeard(changed, self._elects_uncleanly))

    def _first_look(self) -> None:
        assert self._state is not None
        warn_of_small_topics(self._state, self._config.current)
        self._balance_now()

    def _balance_now(self) -> None:
        config = self._config.current
        if config.get("auto.leader.rebalance.enable") is True:
            tolerated = config.integer("leader.imbalance.per.broker.percentage")
            self._put(_FOUND, BalanceLeaders(tolerated), None)
        interval_ms = config.integer("leader.imbalance.check.interval.seconds") * 1000
        self._balance = self._clock.call_later(interval_ms, self._balance_now)

    def _put(self, urgency: int, what: Event[Any] | _ToLook | None, errand: _Errand[Any] | None) -> None:
        self._queue.put_nowait(_Queued(urgency, next(self._numbers), what, errand))

    async def _handle(self, what: Event[Any] | _ToLook, errand: _Errand[Any] | None) -> bool:
        """Act on one event; False when this broker is the controller no more."""
        if errand is not None and errand.promise.done and not errand.is_begun:
            return True  # refused while it waited
        try:
            event = await self._found(what) if isinstance(what, _ToLook) else what
            if event is not None:
                await self._perform(event, errand)
            if errand is not None:
                self._settle(errand)
        except (ControllerMovedError, SessionExpiredError, UnknownOutcomeError):
            _log.exception("the controller has moved: this broker resigns")
            return False
        except StoreUnavailableError as error:
            _log.error("the metadata store refused a write; nothing changed: %s", error)
            self._fail(errand, ErrorCode.KAFKA_STORAGE_ERROR)
            if (errand is None or what is not errand.event) and not isinstance(what, BalanceLeaders):
                self._put_off.put(what)
        except Exception:
            _log.exception("a fault in %s; the controller goes on", type(what).__name__)
            self._fail(errand, ErrorCode.UNKNOWN_SERVER_ERROR)
        return True

    async def _found(self, what: _ToLook) -> Event[Any] | None:
        """Look into the store, and return the event that has to be decided, or None."""
        assert self._state is not None
        self._looks.discard(what.path)
        try:
            return await what.how(self._store, self._state)
        except StoreError as error:
            if isinstance(error, SessionExpiredError | UnknownOutcomeError | StoreUnavailableError):
                raise
            _log.warning("what was found in the metadata store is left alone: %s", error)
            return None

    async def _perform(self, event: Event[T], errand: _Errand[Any] | None) -> None:
        """Decide, make durable, tell the brokers."""
        assert self._state is not None
        assert self._watches is not None
        if errand is not None:
            errand.is_begun = True
        decision = await Writer(self._store, self._state).carry_out(event)
        self._state = decision.state
        self._channels.follow(self._state.brokers)
        self._watch_over({**self._state.brokers, **self._state.presumed_dead})
        self._watches.follow(self._state)
        if errand is not None and errand.decision is None:
            errand.decision = decision
        for broker_id, news in decision.requests:
            self._tell(broker_id, news, errand)
        if decision.next is not None:
            self._put(_FOUND, decision.next, None)

    def _tell(self, broker_id: int, news: News, errand: _Errand[Any] | None) -> None:
        if broker_id != self._broker_id:
            errand = None
        if errand is not None:
            errand.outstanding += 1
        self._channels.put(broker_id, news, partial(self._answered, broker_id, news, errand))

    def _answered(self, broker_id: int, news: News, errand: _Errand[Any] | None, reply: Reply) -> None:
        if reply.error:
            _log.error("broker %d refused %s: %s", broker_id, type(news).__name__, reply.error.name)
        failed = failures(reply)
        if failed:
            _log.error("broker %d failed replicas: %s", broker_id, failed)
        event = event_of_reply(broker_id, news, reply)
        if event is not None:
            assert self._state is not None
            epoch = self._state.brokers[broker_id].epoch
            self._put(_FOUND, OfRegistration(broker_id, epoch, event), errand)
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


def _settle_once(future: asyncio.Future[None], fault: BaseException | None) -> None:
    if not future.done():
        if fault is None:
            future.set_result(None)
        else:
            future.set_exception(fault)


class _ToLook(NamedTuple):
    """Something in the store that has changed, and how to look at it."""

    path: str
    how: Look


class _Queued(NamedTuple):
    """An entry of the queue; `number` keeps the order among equals. Nothing to do ends the loop."""

    urgency: int
    number: int
    what: Event[Any] | _ToLook | None
    errand: _Errand[Any] | None
