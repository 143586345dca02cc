"""Requests whose answers never come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.instrumentation.exchange import when_settled
from kcompat.instrumentation.faults.checks import checked_served
from kcompat.instrumentation.faults.request_fault import HeldAnswers, RequestFault
from kcompat.net.answers import CLOSE, Mode

if TYPE_CHECKING:
    from kcompat.instrumentation.exchange import ReceivedRequest
    from kcompat.instrumentation.faults.request_fault import Surroundings
    from kcompat.instrumentation.faults.selection import Chance, Selection
    from kcompat.net.answers import Answer, Connection, Settled
    from kcompat.net.interception import Serve


class Drop(RequestFault):
    """A fault that withholds the answers to requests. Later answers of the connection wait as well, as after
    a lost packet, until the client gives up; when the fault ends, the connection is closed.
    """

    deed = "dropped"

    def __init__(
        self, selection: Selection, chance: Chance, surroundings: Surroundings, *, served: bool = True
    ) -> None:
        super().__init__(selection, chance, surroundings)
        self._served = checked_served(served)
        self._held = HeldAnswers()

    @property
    def effect(self) -> str:
        return "is served and never answered" if self._served else "is neither served nor answered"

    def strike(self, serve: Serve, connection: Connection, request: ReceivedRequest) -> Answer:
        if not self._served:
            return self._lost(connection)

        def lose(settled: Settled) -> Answer:
            return settled if settled is None or settled is CLOSE else self._lost(connection)

        return when_settled(serve(connection, request.frame), lose)

    def end(self) -> None:
        super().end()
        self._held.release_all()

    def _lost(self, connection: Connection) -> Answer:
        return self._held.hold(connection, Mode.PIPELINED, lambda: CLOSE)
