"""Requests to which the broker responds by closing the connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.instrumentation.exchange import when_settled
from kcompat.instrumentation.faults.checks import checked_served
from kcompat.instrumentation.faults.request_fault import RequestFault
from kcompat.net.answers import CLOSE

if TYPE_CHECKING:
    from kcompat.instrumentation.exchange import ReceivedRequest
    from kcompat.instrumentation.faults.request_fault import Surroundings
    from kcompat.instrumentation.faults.selection import Chance, Selection
    from kcompat.net.answers import Answer, Connection
    from kcompat.net.interception import Serve


class Disconnection(RequestFault):
    """A fault that closes the connection instead of answering, with `served` after serving the request.
    Answers to earlier requests are sent before.
    """

    deed = "disconnected"

    def __init__(
        self, selection: Selection, chance: Chance, surroundings: Surroundings, *, served: bool = False
    ) -> None:
        super().__init__(selection, chance, surroundings)
        self._served = checked_served(served)

    @property
    def effect(self) -> str:
        return "closes the connection" + (" after it was served" if self._served else "")

    def strike(self, serve: Serve, connection: Connection, request: ReceivedRequest) -> Answer:
        if not self._served:
            return CLOSE
        return when_settled(serve(connection, request.frame), lambda _: CLOSE)
