"""The controller: events decided one at a time, written to the store, then sent to brokers as requests.

Kafka's counterpart: `KafkaController`. The decisions are pure functions in the modules of this package. This
module runs them: it owns the queue and calls the store and the brokers. Replies of brokers and changes found
in the store become events too. They go before submitted events, so that what was begun is finished first.

Brokers submit events through `Decisions` and get promises. A promise is completed once the controller's own
broker has its roles and the new image, and the events that followed are decided too: a client can use its new
topic. No promise waits for another broker.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from msgspec.structs import replace

from kcompat.controller import loading
from kcompat.controller.brokers import Failover, FailuresDetected, detect_no_failures
from kcompat.controller.channels import BrokerChannels, OfRegistration, event_of_reply, failures
from kcompat.controller.config_changes import ConfigsChanged
from kcompat.controller.decision_writer import ControllerMovedError, DecisionWriter
from kcompat.controller.deferred_events import DeferredEvents
from kcompat.controller.internal_topics import warn_of_small_topics
from kcompat.controller.leader_election_requests import BalanceLeaders
from kcompat.controller.watches import AT_THE_BEGINNING, LOOKS, ControllerWatches, drop_notifications
from kcompat.logger_names import CONTROLLER
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
    from kcompat.cluster.control_requests import BrokerPort, ControlRequest, Reply
    from kcompat.cluster.metadata_cache import MetadataCache
    from kcompat.config.broker import ConfigFeed
    from kcompat.controller.brokers import DetectFailures
    from kcompat.controller.controllership import Controllership
    from kcompat.controller.state import ControllerState, Decision, Event, RegisteredBroker
    from kcompat.controller.watches import Look
    from kcompat.store.interface import MetadataStore

T = TypeVar("T")

MAX_UNANSWERED = 10_000
"""Maximum number of submitted events that wait for an answer; REQUEST_TIMED_OUT refuses further ones."""

FIRST_BALANCE_MS = 5000
"""Time in ms from the start of a term to the first leader rebalance, as in Kafka: brokers that start together
are registered by then, and a rebalance due in the last term waits no whole interval of this one."""

_FOUND, _ASKED, _STOP = range(3)
"""Priorities in the queue, the lowest number first."""

_log = logging.getLogger(CONTROLLER)


class Controller:
    """Controller of a cluster, active while its broker's session owns `/controller`."""

    def __init__(
        self,
        broker_id: int,
        store: MetadataStore,
        port_of: Callable[[RegisteredBroker], BrokerPort],
        clock: Clock,
        config: ConfigFeed,
        cluster: MetadataCache,
        detect_failures: DetectFailures = detect_no_failures,
    ) -> None:
        """Prepare the controller of broker `broker_id`, which `config` and `cluster` belong to. `port_of`
        returns the port to a broker. During a term `detect_failures` receives the brokers to watch; their
        failures are reported by `failures_detected`.
        """
        self.unclean_elections = 0  # leaders from outside their ISR, elected while this broker was controller
        self._broker_id = broker_id
        self._store = store
        self._clock = clock
        self._config = config
        self._channels = BrokerChannels(port_of)
        self._detect_failures = detect_failures
        self._queue: asyncio.PriorityQueue[_Queued] = asyncio.PriorityQueue()
        self._numbers = itertools.count()
        self._calls: dict[_Call[Any], None] = {}
        self._looks: set[str] = set()
        self._state: ControllerState | None = None
        self._running: asyncio.Task[None] | None = None
        self._watches: ControllerWatches | None = None
        self._deferred: DeferredEvents[Event[Any] | _ToLook] = DeferredEvents(clock, self._again)
        self._cluster = cluster
        self._balance: Timer | None = None
        self._gone: Mapping[int, int] = {}  # the brokers whose processes have ended, and their epochs
        config.subscribe(lambda _: self._configs_changed({}))
        cluster.subscribe_to_configs(self._configs_changed)

    # -- terms -------------------------------------------------------------------------------------------

    @property
    def is_active(self) -> bool:
        """Whether this broker is the controller now."""
        return self._running is not None

    async def start(self, elected: Controllership, ended: Callable[[], object]) -> None:
        """Begin a term: load the cluster, send every broker its roles, then serve events. Returns when
        this broker has taken its roles, or the term is over. `ended` is called when it ends other than by
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
        """End the term at once: nothing more is written to the store or sent to brokers."""
        if self._running is not None:
            self._running.cancel()
            self._end()

    async def stop(self) -> None:
        """Stop after the current event and the replies received so far. Waiting events are refused with
        NOT_CONTROLLER; those that wait for a broker's reply end with REQUEST_TIMED_OUT.
        """
        running = self._running
        if running is not None:
            self._refuse([call for call in self._calls if not call.is_begun])
            self._put(_STOP, None, None)
            await asyncio.wait([running])

    async def _serve(self, elected: Controllership, begun: asyncio.Future[None]) -> None:
        await self._begin(elected, begun)
        while (what := (queued := await self._queue.get()).what) is not None:
            if not await self._handle(what, queued.call):
                break

    async def _begin(self, elected: Controllership, begun: asyncio.Future[None]) -> None:
        """Begin the term. Watches are set before reading, so that changes meanwhile are read again."""
        self._watches = ControllerWatches(self._store, self._look)
        state = await loading.load(self._store, self._broker_id, elected.epoch, elected.epoch_version)
        await drop_notifications(self._store, state)
        self._state = replace(state, elects_uncleanly=self._elects_uncleanly)
        call = _Call(Failover())
        self._calls[call] = None
        call.promise.then(lambda _: _settle_once(begun, None))
        await self._perform(call.event, call)
        self._settle(call)
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
        self._detect_failures({})
        if self._watches is not None:
            self._watches.close()
        self._deferred.clear()
        if self._balance is not None:
            self._balance.cancel()
        self._refuse(list(self._calls))

    # -- events ------------------------------------------------------------------------------------------

    def submit(self, event: Event[T]) -> Promise[T]:
        """Queue an event; answer NOT_CONTROLLER outside a term, REQUEST_TIMED_OUT if too many events wait."""
        call = _Call(event)
        if self._running is None:
            call.refuse(ErrorCode.NOT_CONTROLLER)
        elif len(self._calls) >= MAX_UNANSWERED:
            call.refuse(ErrorCode.REQUEST_TIMED_OUT)
        else:
            self._calls[call] = None
            self._deferred.retry()  # deferred events go before submitted ones
            self._put(_ASKED, event, call)
        return call.promise

    def report(self, event: Event[None]) -> None:
        """Queue an event that no caller waits for, before submitted ones; ignored outside a term."""
        if self._running is not None:
            self._put(_FOUND, event, None)

    def failures_detected(self, gone: Mapping[int, int]) -> None:
        """Queue the detected failures: broker epochs by id, of all watched brokers whose processes have
        ended.
        """
        self._gone = gone
        self.report(FailuresDetected(gone))

    def _again(self, what: Event[Any] | _ToLook) -> None:
        """Queue an item again whose write the store refused, for a decision with the latest configs."""
        match what:
            case _ToLook():
                self._look(what.path, what.how)
            case ConfigsChanged():
                known = self._cluster.image.entity_configs
                self._configs_changed({key: known.get(key, {}) for key in what.changed})
            case FailuresDetected():
                self.report(FailuresDetected(self._gone))
            case _:
                self.report(what)

    def _look(self, path: str, how: Look) -> None:
        """Queue one read of a changed path; the read covers every change of the path until it runs."""
        if path not in self._looks:
            self._looks.add(path)
            self._put(_FOUND, _ToLook(path, how), None)

    @property
    def _elects_uncleanly(self) -> bool:
        return self._config.current.get("unclean.leader.election.enable") is True

    def _configs_changed(self, changed: Mapping[tuple[str, str], Mapping[str, str]]) -> None:
        self.report(ConfigsChanged(changed, self._elects_uncleanly))

    def _first_look(self) -> None:
        assert self._state is not None
        warn_of_small_topics(self._state, self._config.current)
        self._balance_now()

    def _balance_now(self) -> None:
        config = self._config.current
        if config.boolean("auto.leader.rebalance.enable"):
            tolerated = config.integer("leader.imbalance.per.broker.percentage")
            self._put(_FOUND, BalanceLeaders(tolerated), None)
        interval_ms = config.integer("leader.imbalance.check.interval.seconds") * 1000
        self._balance = self._clock.call_later(interval_ms, self._balance_now)

    def _put(self, urgency: int, what: Event[Any] | _ToLook | None, call: _Call[Any] | None) -> None:
        self._queue.put_nowait(_Queued(urgency, next(self._numbers), what, call))

    async def _handle(self, what: Event[Any] | _ToLook, call: _Call[Any] | None) -> bool:
        """Process one item of the queue; return False if this broker is no longer the controller."""
        if call is not None and call.promise.done and not call.is_begun:
            return True  # refused while it waited
        try:
            event = await self._found(what) if isinstance(what, _ToLook) else what
            if event is not None:
                await self._perform(event, call)
            if call is not None:
                self._settle(call)
        except (ControllerMovedError, SessionExpiredError, UnknownOutcomeError):
            _log.exception("the controller has moved: this broker resigns")
            return False
        except StoreUnavailableError as error:
            _log.error("the metadata store refused a write; nothing changed: %s", error)
            self._fail(call, ErrorCode.KAFKA_STORAGE_ERROR)
            if (call is None or what is not call.event) and not isinstance(what, BalanceLeaders):
                self._deferred.put(what)
        except Exception:
            _log.exception("a fault in %s; the controller goes on", type(what).__name__)
            self._fail(call, ErrorCode.UNKNOWN_SERVER_ERROR)
        return True

    async def _found(self, what: _ToLook) -> Event[Any] | None:
        """Read the store and return the event to decide, or None."""
        assert self._state is not None
        self._looks.discard(what.path)
        try:
            return await what.how(self._store, self._state)
        except StoreError as error:
            if isinstance(error, SessionExpiredError | UnknownOutcomeError | StoreUnavailableError):
                raise
            _log.warning("a change in the metadata store is ignored: %s", error)
            return None

    async def _perform(self, event: Event[T], call: _Call[Any] | None) -> None:
        """Decide an event, write it to the store, send control requests to the brokers."""
        assert self._state is not None
        assert self._watches is not None
        if call is not None:
            call.is_begun = True
        decision = await DecisionWriter(self._store, self._state).carry_out(event)
        self._state, self.unclean_elections = decision.state, self.unclean_elections + decision.unclean
        self._channels.follow(self._state.brokers)
        self._detect_failures({**self._state.brokers, **self._state.presumed_dead})
        self._watches.follow(self._state)
        if call is not None and call.decision is None:
            call.decision = decision
        for broker_id, control in decision.requests:
            self._tell(broker_id, control, call)
        if decision.next is not None:
            self._put(_FOUND, decision.next, None)

    def _tell(self, broker_id: int, control: ControlRequest, call: _Call[Any] | None) -> None:
        if broker_id != self._broker_id:
            call = None
        if call is not None:
            call.outstanding += 1
        self._channels.put(broker_id, control, partial(self._answered, broker_id, control, call))

    def _answered(
        self, broker_id: int, control: ControlRequest, call: _Call[Any] | None, reply: Reply
    ) -> None:
        if reply.error:
            _log.error("broker %d refused %s: %s", broker_id, type(control).__name__, reply.error.name)
        failed = failures(reply)
        if failed:
            _log.error("broker %d failed replicas: %s", broker_id, failed)
        event = event_of_reply(broker_id, control, reply)
        if event is not None:
            assert self._state is not None
            epoch = self._state.brokers[broker_id].epoch
            self._put(_FOUND, OfRegistration(broker_id, epoch, event), call)
        elif call is not None:
            self._settle(call)

    # -- submitted events ---------------------------------------------------------------------------------

    def _settle(self, call: _Call[Any]) -> None:
        """Count an event or a reply that belongs to a call as done; the last one completes the call."""
        call.outstanding -= 1
        if call.outstanding == 0:
            self._calls.pop(call, None)
            assert self._state is not None
            call.complete(self._state)

    def _fail(self, call: _Call[Any] | None, error: ErrorCode) -> None:
        if call is not None:
            self._calls.pop(call, None)
            call.refuse(error)

    def _refuse(self, calls: list[_Call[Any]]) -> None:
        """Answer calls that cannot be completed: REQUEST_TIMED_OUT if the event may have taken effect."""
        for call in calls:
            decided = call.decision is not None
            self._fail(call, ErrorCode.REQUEST_TIMED_OUT if decided else ErrorCode.NOT_CONTROLLER)


class _Call(Generic[T]):
    """A submitted event, until the controller's own broker has carried out its consequences."""

    def __init__(self, event: Event[T]) -> None:
        self.event = event
        self.promise: Promise[T] = Promise()
        self.is_begun = False
        self.decision: Decision[T] | None = None
        self.outstanding = 1
        """Number of open items: the event itself, and requests without a reply."""

    def complete(self, state: ControllerState) -> None:
        """Answer the caller; `state` is the state after the last event."""
        if self.decision is not None:
            revise = self.decision.revise
            self.promise.complete(self.decision.answer if revise is None else revise(state))

    def refuse(self, error: ErrorCode) -> None:
        """Answer the caller with an error."""
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
    """A changed path of the store, and the function that reads it and returns an event."""

    path: str
    how: Look


class _Queued(NamedTuple):
    """Entry of the queue; `number` orders entries of equal urgency, and `what` is None to end the loop."""

    urgency: int
    number: int
    what: Event[Any] | _ToLook | None
    call: _Call[Any] | None
