"""The record of the requests of clients, by the control port."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct

from kcompat.instrumentation.recording.outcome import Refusal  # noqa: TC001 - a field's type, read at run time

if TYPE_CHECKING:
    from kcompat.instrumentation.control.control import Control
    from kcompat.instrumentation.recording.entry import RecordedRequest


class WhichRequests(Struct, forbid_unknown_fields=True):
    """The choice of recorded requests."""

    client_id: str | None = None
    api: Annotated[str | None, Meta(description="Kafka's name of the API, such as Produce.")] = None
    topic: str | None = None
    since: Annotated[float | None, Meta(description="Seconds since 1970.")] = None
    errors_only: Annotated[bool, Meta(description="Whether only requests that failed are listed.")] = False
    limit: Annotated[
        int, Meta(ge=1, le=10_000, description="The largest number; the last ones are listed.")
    ] = 100
    deep: Annotated[bool, Meta(description="Whether the fields of requests and answers are listed too.")] = (
        False
    )


class Request(Struct):
    """A request of a client, and the outcome of it."""

    time: Annotated[float, Meta(description="Seconds since 1970.")]
    broker: int
    client_id: str | None
    principal: str
    peer: str
    listener: str
    api: Annotated[str, Meta(description="Empty if the frame was no request, or a SASL token alone.")]
    version: int
    topics: list[str]
    group: str | None
    outcome: Annotated[str, Meta(description="ok, or the errors, or why there is no answer, in short.")]
    errors: list[Refusal]
    duration_ms: Annotated[float | None, Meta(description="Null while the request waits.")]
    request: Annotated[dict[str, Any] | None, Meta(description="The fields of the request, if deep.")] = None
    response: Annotated[dict[str, Any] | None, Meta(description="The fields of the answer, if deep.")] = None


class Requests(Struct):
    """Requests of clients, the oldest first."""

    requests: list[Request]


async def list_requests(control: Control, which: WhichRequests) -> Requests:
    """List the last requests of clients, with the outcome of each."""
    found = control.recorder.snapshot().requests(
        which.client_id, which.api, which.topic, which.since, which.errors_only
    )
    return Requests([_shown(each, deep=which.deep) for each in found[-which.limit :]])


def _shown(recorded: RecordedRequest, *, deep: bool) -> Request:
    return Request(
        recorded.time,
        recorded.broker_id,
        recorded.client_id,
        recorded.principal,
        recorded.peer,
        recorded.listener,
        recorded.api,
        recorded.version,
        recorded.topics,
        recorded.group,
        recorded.outcome,
        recorded.errors,
        recorded.duration_ms,
        recorded.request if deep else None,
        recorded.response if deep else None,
    )
