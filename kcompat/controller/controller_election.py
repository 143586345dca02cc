"""Election of the controller among the brokers (`KafkaController.elect`).

Every broker takes part. It watches `/controller` and tries to become the controller whenever there is none.
It resigns when another broker has been elected, when one of its writes shows that the controller epoch has
grown, and as soon as its session with the store is suspended or expired: others may have elected a controller
by then.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, TypeVar

from kcompat.cluster import znodes
from kcompat.controller import controllership, loading
from kcompat.controller.brokers import detect_no_failures
from kcompat.logger_names import CONTROLLER
from kcompat.store.interface import SessionState, StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.clock import Clock, Timer
    from kcompat.controller.brokers import DetectFailures
    from kcompat.controller.controller import Controller
    from kcompat.controller.state import Event
    from kcompat.promise import Promise
    from kcompat.store.interface import MetadataStore, Watch

T = TypeVar("T")

RETRY_MS = 1000
"""Pause in ms after a failed attempt to read the current controller or to become it."""

_log = logging.getLogger(CONTROLLER)


class ControllerElection:
    """This broker's part in the election: it knows the current controller, and starts and ends terms of its
    own.
    """

    def __init__(
        self,
        broker_id: int,
        store: MetadataStore,
        controller: Controller,
        clock: Clock,
        detect_failures: DetectFailures = detect_no_failures,
    ) -> None:
        """Prepare the election. `controller` begins a term when this broker is elected. While another broker
        is the controller, `detect_failures` gets that broker to watch; its failure is reported by
        `failures_detected`.
        """
        self._broker_id = broker_id
        self._store = store
        self._controller = controller
        self._clock = clock
        self._detect_failures = detect_failures
        self._gone: Mapping[int, int] = {}  # a controller elsewhere whose process has ended, and its epoch
        self.controller_id: int | None = None
        """Id of the current controller, maybe this broker; None while it is not known."""
        self._look = asyncio.Event()
        self._looked: asyncio.Future[None] | None = None
        self._running: asyncio.Task[None] | None = None
        self._subscriptions: list[Watch] = []
        self._retry: Timer | None = None

    @property
    def is_here(self) -> bool:
        """Whether this broker is the controller."""
        return self._controller.is_active

    @property
    def unclean_elections(self) -> int:
        """Number of leaders that this broker has elected from outside their ISR, as the controller."""
        return self._controller.unclean_elections

    async def start(self) -> None:
        """Take part in the election. Returns when there is a controller; if it is this broker, its roles are
        taken by then. Raises the store's errors and `DamagedZnodeError`.
        """
        self._subscriptions = [
            self._store.subscribe(self._session_changed),
            self._store.watch(znodes.CONTROLLER, lambda _: self._look.set()),
        ]
        self._looked = asyncio.get_running_loop().create_future()
        self._look.set()
        self._running = asyncio.create_task(self._run(), name="controller election")
        await self._looked

    async def stop(self) -> None:
        """Leave the election; a term of this broker ends as by `Controller.stop`."""
        running = self._running
        self._stand_no_more()
        if running is not None:
            await asyncio.wait([running])
        self._detect_failures({})
        await self._controller.stop()
        self.controller_id = None

    def abandon(self) -> None:
        """Leave the election at once and end a term as `kill -9` would: nothing is written or sent."""
        self._stand_no_more()
        self._detect_failures({})
        self._controller.resign()

    def _stand_no_more(self) -> None:
        for subscription in self._subscriptions:
            subscription.cancel()
        self._subscriptions.clear()
        if self._retry is not None:
            self._retry.cancel()
        if self._running is not None:
            self._running.cancel()
            self._running = None

    def submit(self, event: Event[T]) -> Promise[T]:
        """Submit an event to this broker's controller, which answers NOT_CONTROLLER outside a term."""
        return self._controller.submit(event)

    def report(self, event: Event[None]) -> None:
        """Report an event that no caller waits for to this broker's controller; ignored outside a term."""
        self._controller.report(event)

    def failures_detected(self, gone: Mapping[int, int]) -> None:
        """Take note that the processes of these observed brokers have ended: broker epochs by id.

        If the controller is among them, a new election begins; the controller epoch fences it if it lives.
        """
        if self.is_here:
            self._controller.failures_detected(gone)
        else:
            self._gone = gone
            self._look.set()

    # -- the current controller -------------------------------------------------------------------------

    def _session_changed(self, state: SessionState) -> None:
        if state is not SessionState.CONNECTED:
            self.controller_id = None
            self._controller.resign()
        self._look.set()

    async def _run(self) -> None:
        while True:
            await self._look.wait()
            self._look.clear()
            try:
                await self._attend()
            except Exception as error:
                if self._looked is not None and not self._looked.done():
                    self._looked.set_exception(error)
                    return
                if not isinstance(error, StoreError):
                    _log.exception("a fault while the current controller was determined")
                else:
                    _log.warning("the current controller cannot be determined: %s", error)
                await self._pause()
            else:
                if self._looked is not None and not self._looked.done() and self.controller_id is not None:
                    self._looked.set_result(None)

    async def _pause(self) -> None:
        """Wait `RETRY_MS`, and read the current controller again."""
        over = asyncio.Event()
        self._retry = self._clock.call_later(RETRY_MS, over.set)
        await over.wait()
        self._look.set()

    async def _attend(self) -> None:
        """Read the current controller, and try to become it if there is none."""
        if self._store.state is not SessionState.CONNECTED:
            return
        found = await controllership.current_controller(self._store)
        if found is not None and found.broker_id == self._broker_id and not found.is_mine:
            # A former process of this broker owns `/controller`. It has ended, since this one is registered.
            _log.info("a former process of this broker is the controller no more")
            await controllership.depose(self._store, self._broker_id)
            found = None
        if found is None or (found.is_mine and not self.is_here):
            await self._try(is_held=found is not None)
            return
        self.controller_id = found.broker_id
        if not found.is_mine:
            self._controller.resign()
            await self._detect_failure_of(found.broker_id)

    async def _detect_failure_of(self, broker_id: int) -> None:
        """Have the failure detector watch the controller's process; remove `/controller` if it has ended."""
        brokers = await loading.registered(self._store, [broker_id])
        if broker_id in brokers and self._gone.get(broker_id) == brokers[broker_id].epoch:
            _log.info("the process of broker %d, the controller, has ended", broker_id)
            await controllership.depose(self._store, broker_id)
        else:
            self._detect_failures(brokers)
        self._gone = {}  # kept until here, so that a refused write is tried again at the next read

    async def _try(self, *, is_held: bool) -> None:
        """Try to become the controller; with `is_held`, `/controller` still belongs to this session from an
        earlier term.
        """
        self._controller.resign()
        self.controller_id = None
        self._gone = {}
        now_ms = self._clock.now_ms()
        elected = await controllership.elect(self._store, self._broker_id, now_ms, is_held=is_held)
        if elected is not None:
            _log.info("broker %d is the controller, in epoch %d", self._broker_id, elected.epoch)
            self._detect_failures({})  # failures detected so far are to be reported again in this term
            try:
                await self._controller.start(elected, self._look.set)
            except Exception:
                await controllership.step_down(self._store)
                raise
        if self.is_here:
            self.controller_id = self._broker_id
        else:
            self._look.set()
