"""Faults of requests and of producers, on the control port."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct, structs

from kcompat.instrumentation.control.problems import ProblemError
from kcompat.instrumentation.faults import transactions
from kcompat.instrumentation.faults.requests import FaultOfBrokers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.instrumentation.control.control import Control, ControlledFault
    from kcompat.instrumentation.control.operation import Nothing

Milliseconds = Annotated[float, Meta(gt=0, le=2**31 - 1)]


class Struck(Struct, kw_only=True, forbid_unknown_fields=True):
    """The requests that a fault affects. Fields that are not given match every request."""

    topic: Annotated[str | None, Meta(description="Name of a topic that the request is about.")] = None
    partition: Annotated[int | None, Meta(description="Partition of that topic.")] = None
    client_id: str | None = None
    times: Annotated[
        int | None, Meta(description="Number of requests after which the fault strikes no more.")
    ] = None
    rate: Annotated[float, Meta(description="Probability that a request is struck.")] = 1.0
    seed: Annotated[int | None, Meta(description="Seed that makes the rate repeatable.")] = None
    broker: Annotated[
        int | None, Meta(description="Id of the broker that has the fault; by default all running ones.")
    ] = None


class SomeRequests(Struck, kw_only=True):
    """Requests of one API, or of all APIs."""

    api: Annotated[
        str | None, Meta(description="Kafka's name of the API, such as Produce; all by default.")
    ] = None


class FailRequests(Struck, kw_only=True):
    """A fault that answers requests with an error."""

    api: Annotated[str, Meta(description="Kafka's name of the API, such as Produce.")]
    error: Annotated[str, Meta(description="Kafka's name of the error, such as NOT_LEADER_OR_FOLLOWER.")]
    served: Annotated[bool, Meta(description="Whether the request is served all the same.")] = False


class DelayRequests(SomeRequests, kw_only=True):
    """A fault that serves requests late."""

    ms: Milliseconds


class DropAnswers(SomeRequests, kw_only=True):
    """A fault that never answers requests."""

    served: Annotated[bool, Meta(description="Whether the request is served all the same.")] = True


class Disconnect(SomeRequests, kw_only=True):
    """A fault that closes the connection instead of answering."""

    served: Annotated[bool, Meta(description="Whether the request is served before.")] = False


class ThrottleClients(SomeRequests, kw_only=True):
    """A fault that throttles clients as a quota does."""

    ms: Milliseconds


class WhichProducer(Struct, forbid_unknown_fields=True):
    """The choice of a transactional producer."""

    transactional_id: str


class Fault(Struct):
    """A fault that was started on the control port."""

    id: str
    description: str
    struck: Annotated[
        int,
        Meta(description="Number of requests, operations on files, partitions or brokers struck."),
    ]
    in_force: Annotated[bool, Meta(description="Whether the fault may still strike.")]


class Faults(Struct):
    """The faults that were started on the control port and not deleted."""

    faults: list[Fault]


class WhichFault(Struct, forbid_unknown_fields=True):
    """The choice of one fault."""

    fault: str


async def fail_requests(control: Control, fault: FailRequests) -> Fault:
    """Answer requests with an error.

    With a topic, only the part of a request about that topic fails.
    """
    return _add(control, "fail", fault)


async def delay_requests(control: Control, fault: DelayRequests) -> Fault:
    """Serve requests late; later requests on the same connection wait for them."""
    return _add(control, "delay", fault)


async def drop_answers(control: Control, fault: DropAnswers) -> Fault:
    """Never answer requests."""
    return _add(control, "drop", fault)


async def disconnect(control: Control, fault: Disconnect) -> Fault:
    """Close the connection instead of answering."""
    return _add(control, "disconnect", fault)


async def throttle_clients(control: Control, fault: ThrottleClients) -> Fault:
    """Answer requests with a throttle time, and serve nothing more on the connection until that time has
    passed.
    """
    return _add(control, "throttle", fault)


async def fence_producer(control: Control, which: WhichProducer) -> None:
    """Take a transactional id from its producer, as another producer does that begins to use it."""
    await transactions.fence_producer(control.nodes, which.transactional_id)


async def hang_transaction(control: Control, which: WhichProducer) -> Fault:
    """Let the coordinator forget the open transaction of an id, so that it hangs until the fault ends."""
    return kept(control, [await transactions.hang_transaction(control.nodes, which.transactional_id)])


async def list_faults(control: Control, _: Nothing) -> Faults:
    """List the faults, and the number of requests that each has affected."""
    return Faults([_shown(*each) for each in control.faults.items()])


async def get_fault(control: Control, which: WhichFault) -> Fault:
    """Return one fault, and the number of requests that it has affected."""
    return _shown(which.fault, _found(control, which.fault))


async def end_fault(control: Control, which: WhichFault) -> None:
    """End a fault. Delayed requests are served now; connections with dropped answers are closed."""
    faults = _found(control, which.fault)
    del control.faults[which.fault]
    await _end(faults)


async def end_faults(control: Control, _: Nothing) -> None:
    """End all faults."""
    while control.faults:
        await _end(control.faults.popitem()[1])


def _add(control: Control, kind: str, asked: Struck) -> Fault:
    """Start a fault on one broker or on all of them, and give it an id."""
    arguments: dict[str, Any] = structs.asdict(asked)
    broker, api = arguments.pop("broker"), arguments.pop("api")
    return kept(control, [FaultOfBrokers(control.reach(broker), kind, api, arguments)])


def kept(control: Control, faults: Sequence[ControlledFault]) -> Fault:
    """Store a fault until it is deleted, and return it with its id."""
    return _shown(control.add_fault(faults), faults)


def _found(control: Control, number: str) -> Sequence[ControlledFault]:
    if number not in control.faults:
        raise ProblemError(
            HTTPStatus.NOT_FOUND,
            f"there is no fault {number!r}: GET /faults lists those that were not deleted",
        )
    return control.faults[number]


def _shown(number: str, faults: Sequence[ControlledFault]) -> Fault:
    struck = sum(each.struck for each in faults)
    return Fault(number, str(faults[0]), struck, any(each.is_in_force for each in faults))


async def _end(faults: Sequence[ControlledFault]) -> None:
    for each in faults:
        ending = each.end()
        if ending is not None:
            await ending
