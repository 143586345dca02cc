"""Requests that are served late."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kcompat.instrumentation.faults.checks import checked_ms
from kcompat.instrumentation.faults.request_fault import HeldAnswers, RequestFault
from kcompat.net.answers import CLOSE, Mode

if TYPE_CHECKING:
    from kcompat.instrumentation.exchange import ReceivedRequest
    from kcompat.instrumentation.faults.request_fault import Surroundings
    from kcompat.instrumentation.faults.selection import Chance, Selection
    from kcompat.net.answers import Answer, Connection
    from kcompat.net.interception import Serve

logger = logging.getLogger(__name__)


class Delay(RequestFault):
    """A fault that lets requests wait before they are served, as in a broker whose threads are busy; later
    requests of the connection wait too. When the fault ends, waiting requests are served.
    """

    deed = "delayed"
    makes_answers = False

    def __init__(
        self, selection: Selection, chance: Chance, surroundings: Surroundings, *, ms: float
    ) -> None:
        super().__init__(selection, chance, surroundings)
        self._ms = checked_ms(ms)
        self._held = HeldAnswers()

    @property
    def effect(self) -> str:
        return f"is served {self._ms:g} ms late"

    def strike(self, serve: Serve, connection: Connection, request: ReceivedRequest) -> Answer:
        frame = memoryview(bytearray(request.frame))  # the frame itself is gone by then

        def serve_late() -> Answer:
            try:
                return serve(connection, frame)
            except Exception:
                logger.exception("A delayed request of %s failed", connection.peer_host)
                return CLOSE

        waiting = self._held.hold(connection, Mode.BLOCKING, serve_late, len(frame))
        self.surroundings.clock.call_later(self._ms, lambda: self._held.release(waiting))
        return waiting

    def end(self) -> None:
        super().end()
        self._held.release_all()
