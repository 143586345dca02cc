"""Expectations of records that clients will write, on the control port."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from kcompat.instrumentation.control.problems import ProblemError
from kcompat.instrumentation.control.records import TopicRecords, listed
from kcompat.instrumentation.expectations import Wanted, begin
from kcompat.instrumentation.reading import Isolation  # noqa: TC001 - a field's type, read at run time

if TYPE_CHECKING:
    from kcompat.instrumentation.control.control import Control

Number = Annotated[int, Meta(ge=0, le=10_000)]


class ExpectedRecords(Struct, forbid_unknown_fields=True):
    """The records to expect in a topic, which need not exist yet: exactly `count`, or `at_least` as many."""

    topic: str
    count: Number | None = None
    at_least: Number | None = None
    timeout_s: Annotated[
        float, Meta(ge=0, le=3600, description="Longest time until they are there, once they are awaited.")
    ] = 5.0
    isolation: Isolation = "read_uncommitted"


class KeptExpectation(Struct):
    """An expectation that has begun."""

    id: str


class WhichExpectation(Struct, forbid_unknown_fields=True):
    """The choice of one expectation."""

    expectation: str


async def expect_records(control: Control, expected: ExpectedRecords) -> KeptExpectation:
    """Begin to expect records. Only records that are written from now on are counted."""
    wanted = Wanted(
        expected.topic, expected.count, expected.at_least, expected.timeout_s, None, expected.isolation
    )
    wanted.check()
    return KeptExpectation(control.keep_expectation(await begin(control.brokers, wanted)))


async def await_records(control: Control, which: WhichExpectation) -> TopicRecords:
    """Wait for the expected records, and return them. This ends the expectation.

    If there are too few or too many, the status is 417, and the detail has a line for each record that was
    written.
    """
    expectation = control.expectations.pop(which.expectation, None)
    if expectation is None:
        raise ProblemError(
            HTTPStatus.NOT_FOUND, f"there is no expectation {which.expectation!r}: it was awaited already"
        )
    complaint = await expectation.complaint()
    if complaint is not None:
        raise ProblemError(HTTPStatus.EXPECTATION_FAILED, complaint)
    return TopicRecords([listed(each) for each in expectation.found], more=False)
