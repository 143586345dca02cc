"""Requests that are answered with an error."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kcompat.errors import UsageError
from kcompat.instrumentation.exchange import when_settled
from kcompat.instrumentation.faults.checks import checked_served
from kcompat.instrumentation.faults.error_responses import error_response, has_place_for_error, is_of_rows
from kcompat.instrumentation.faults.request_fault import RequestFault
from kcompat.instrumentation.faults.selection import error_code, served_versions
from kcompat.instrumentation.faults.targets import (
    has_errors_of_topics,
    merge,
    names_partitions,
    split,
    targets,
    without_partitions,
)
from kcompat.net.answers import CLOSE
from kcompat.protocol.api_keys import ApiKey, request_class, response_class
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.plan import plan_message

if TYPE_CHECKING:
    from kcompat.instrumentation.exchange import ReceivedRequest
    from kcompat.instrumentation.faults.request_fault import Surroundings
    from kcompat.instrumentation.faults.selection import Chance, Selection
    from kcompat.net.answers import Answer, Connection, Settled
    from kcompat.net.interception import Serve

_UNKNOWN_VERSION: Final = 0x7FFF


class Fail(RequestFault):
    """A fault that answers with an error, as `error_responses` builds it.

    With a topic, only the part of a request that is about it fails; the rest is served. With `served` the
    whole request is served first, and the error replaces the answer.
    """

    deed = "answered"

    def __init__(
        self,
        selection: Selection,
        chance: Chance,
        surroundings: Surroundings,
        *,
        error: str,
        served: bool = False,
    ) -> None:
        super().__init__(selection, chance, surroundings)
        self.error = error_code(error)
        self._served = checked_served(served)
        if selection.key is None:
            raise UsageError("an error needs an API: name one, such as 'Produce'")
        self._key = selection.key
        self._insist_on_place()
        self._in_rows = selection.needs_body or is_of_rows(self._key, self.error)

    @property
    def effect(self) -> str:
        return f"fails with {self.error.name}" + (" after it was served" if self._served else "")

    @property
    def reads_bodies(self) -> bool:
        return True

    @property
    def needs_partitions(self) -> bool:
        return self._in_rows

    def strike(self, serve: Serve, connection: Connection, request: ReceivedRequest) -> Answer:
        if self._key is ApiKey.API_VERSIONS and self.error is ErrorCode.UNSUPPORTED_VERSION:
            # The broker itself refuses a version that nobody knows, in a form that every client reads.
            return serve(connection, request.with_version(_UNKNOWN_VERSION))
        if self.selection.needs_body:
            return self._strike_topic(serve, connection, request)
        response = error_response(
            self._key, request.version, request.message, self.error, in_rows=self._in_rows
        )
        failed = _answer(request, response)
        if not self._served:
            return failed
        return when_settled(serve(connection, request.frame), lambda _: failed)

    def _strike_topic(self, serve: Serve, connection: Connection, request: ReceivedRequest) -> Answer:
        """Fail the part of a request that is about the topic, and serve the rest."""
        plan = plan_message(request_class(self._key), request.version)
        hit, rest = split(request.message, plan, self._is_chosen)
        if self._served or hit is None or self._key is ApiKey.METADATA:
            # Metadata has more to tell than the topics, and changes nothing.
            answer = serve(connection, request.frame)
            return when_settled(answer, partial(self._failed_in, request))
        failed = error_response(self._key, request.version, hit, self.error, in_rows=True)
        if not any(targets(rest, plan)):
            return _answer(request, failed)
        if self._key is ApiKey.FETCH:
            rest.max_wait_ms = 0  # a fetch that finds an error does not wait for data
        answer = serve(connection, request.with_body(rest).frame)
        return when_settled(answer, partial(_joined, request, failed))

    def _failed_in(self, request: ReceivedRequest, answer: Settled) -> Answer:
        """Return an answer of the broker with errors in its rows about the topic."""
        if answer is None or answer is CLOSE:
            return CLOSE
        plan = plan_message(response_class(self._key), request.version)
        by_topic = not names_partitions(plan_message(request_class(self._key), request.version))
        hit, rest = split(request.response_of(answer), plan, self._is_chosen, by_topic=by_topic)
        if hit is None:
            return answer
        if by_topic:
            hit = without_partitions(hit, plan)
        failed = error_response(self._key, request.version, hit, self.error, in_rows=True, plan=plan)
        merge(rest, failed, plan)
        return request.answer_of(rest)

    def _is_chosen(self, topic: str | bytes, partition: int | None) -> bool:
        name_of = self.surroundings.topic_name
        if partition is None:  # an element that is about the topic as a whole
            return self.selection.has_topic(topic, name_of)
        return self.selection.has_target(topic, partition, name_of)

    def _insist_on_place(self) -> None:
        """Raise UsageError if no version of the response has a field for the error."""
        api = self.selection.api
        plans = [plan_message(response_class(self._key), each) for each in served_versions(self._key)]
        if not any(map(has_place_for_error, plans)):
            raise UsageError(
                f"{api} responses have no place for an error: use disconnect() or drop() instead"
            )
        if self.selection.needs_body and not any(map(has_errors_of_topics, plans)):
            topic = self.selection.topic
            raise UsageError(
                f"{api} responses have no place for an error of one topic: leave out topic={topic!r}"
            )


def _answer(request: ReceivedRequest, response: Any) -> Answer:
    """Return the answer with a response to a request that failed.

    A producer that wants no answer (acks=0) loses its connection, as in Kafka, so that it asks for metadata.
    """
    if request.key is ApiKey.PRODUCE and request.message.acks == 0:
        return CLOSE
    return request.answer_of(response)


def _joined(request: ReceivedRequest, failed: Any, answer: Settled) -> Answer:
    """Return the answer to the served part of a request, with the rows that failed added."""
    if answer is None or answer is CLOSE:
        return CLOSE
    response = request.response_of(answer)
    merge(response, failed, plan_message(response_class(request.key), request.version))
    return request.answer_of(response)
