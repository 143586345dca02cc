"""Clients that are throttled as if they exceeded a quota (KIP-124, KIP-219)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kcompat.instrumentation.exchange import when_settled
from kcompat.instrumentation.faults.checks import checked_ms
from kcompat.instrumentation.faults.request_fault import RequestFault
from kcompat.net.answers import CLOSE
from kcompat.protocol.api_keys import response_class
from kcompat.protocol.plan import plan_message

if TYPE_CHECKING:
    from kcompat.instrumentation.exchange import ReceivedRequest
    from kcompat.instrumentation.faults.request_fault import Surroundings
    from kcompat.instrumentation.faults.selection import Chance, Selection
    from kcompat.net.answers import Answer, Connection, Settled
    from kcompat.net.interception import Serve

_FIELD = "throttle_time_ms"


class Throttle(RequestFault):
    """A fault that answers requests at once, with a throttle time, and then serves nothing on their
    connection for that time. Clients whose versions of the response have no such field only have to wait.
    """

    deed = "throttled"
    makes_answers = False

    def __init__(
        self, selection: Selection, chance: Chance, surroundings: Surroundings, *, ms: float
    ) -> None:
        super().__init__(selection, chance, surroundings)
        self._ms = int(checked_ms(ms))

    @property
    def effect(self) -> str:
        return f"is throttled for {self._ms} ms"

    def strike(self, serve: Serve, connection: Connection, request: ReceivedRequest) -> Answer:
        return when_settled(serve(connection, request.frame), partial(self._throttled, connection, request))

    def _throttled(self, connection: Connection, request: ReceivedRequest, answer: Settled) -> Answer:
        if answer is CLOSE:
            return answer
        connection.mute(self._ms)
        if answer is None or not _has_field(request):
            return answer
        response = request.response_of(answer)
        response.throttle_time_ms = max(self._ms, response.throttle_time_ms)
        return request.answer_of(response)


def _has_field(request: ReceivedRequest) -> bool:
    plan = plan_message(response_class(request.key), request.version)
    return any(field.present and field.name == _FIELD for field in plan.fields)
