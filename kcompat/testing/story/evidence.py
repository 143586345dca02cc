"""The facts that a broker has recorded about the clients of one test, as values."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, structs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kcompat.instrumentation.faults.reports import FaultReport
    from kcompat.instrumentation.groups import Group
    from kcompat.instrumentation.recording.entry import ConnectionEvent, RecordedRequest
    from kcompat.instrumentation.topics import Topic

Place = tuple[str, int]
"""A topic and the index of a partition."""
NOT_KNOWN: Final = -1
SINCE_EARLIER: Final = "since an earlier test"
"""Mark in the report for clients that were connected before the test."""
_STORAGE_ERROR: Final = "KAFKA_STORAGE_ERROR"


class Evidence(Struct, frozen=True, dict=True):
    """The facts that a broker has recorded about the clients of one test."""

    address: str
    requests: Sequence[RecordedRequest]
    """Requests since the test began, of clients that connected during the test, the oldest first."""
    others: Sequence[RecordedRequest] = ()
    """Requests since the test began, of clients that were connected before."""
    earlier: Sequence[RecordedRequest] = ()
    """Requests before the test began."""
    complaints: Sequence[ConnectionEvent] = ()
    """Reasons for which the broker closed connections during the test."""
    topics: Mapping[str, Topic] = {}
    groups: Mapping[str, Group] = {}
    struck: Sequence[RecordedRequest] = ()
    """Requests that are left out because a fault made their answers."""
    faults: Sequence[FaultReport] = ()
    """Simulated faults that were active during the test."""
    creates_topics: bool | None = None
    """Whether the broker creates topics by itself; None if that is not known."""
    stopped: frozenset[int] = frozenset()
    """Ids of the brokers of a cluster that are not running."""
    ahead_s: float = 0.0
    """Seconds by which the test has moved the clock of the broker forward."""

    @cached_property
    def in_test(self) -> list[RecordedRequest]:
        """The requests of all clients since the test began, the oldest first."""
        return sorted([*self.requests, *self.others], key=lambda asked: asked.time)

    def is_older(self, asked: RecordedRequest) -> bool:
        """Return whether the client of a request was connected before the test."""
        return id(asked) in self._ids_of_others

    @cached_property
    def _ids_of_others(self) -> set[int]:
        return {id(asked) for asked in self.others}

    def fault_of(self, asked: RecordedRequest) -> FaultReport | None:
        """Return the fault that affected a request, or that explains its error; None if there is none."""
        exchange = (asked.peer, asked.correlation_id)
        fails_to_store = any(each.error == _STORAGE_ERROR for each in asked.errors)
        for fault in self.faults:
            if exchange in fault.exchanges:
                return fault
            if fault.is_of_disk and fails_to_store and fault.began <= asked.time:
                return fault
        return None

    def without_faults(self) -> Evidence:
        """Return the evidence without the requests to which a fault made the answer."""
        return structs.replace(
            self,
            requests=[asked for asked in self.requests if not self._has_false_answer(asked)],
            others=[asked for asked in self.others if not self._has_false_answer(asked)],
            struck=[asked for asked in self.in_test if self._has_false_answer(asked)],
        )

    def _has_false_answer(self, asked: RecordedRequest) -> bool:
        fault = self.fault_of(asked)
        return fault is not None and (fault.makes_answers or fault.is_of_disk)

    def answered(
        self, *apis: str, among: Sequence[RecordedRequest] | None = None
    ) -> Iterator[tuple[RecordedRequest, dict[str, Any], dict[str, Any]]]:
        """Yield the requests of these APIs with their fields and those of their answers, in order; by default
        those of `requests`.
        """
        for asked in self.requests if among is None else among:
            if asked.api in apis and (request := asked.request) and (response := asked.response):
                yield asked, request, response

    def topic_of(self, fields: Mapping[str, Any]) -> str:
        """Return the name of the topic in some fields of a message, found by its id if they have no name."""
        named = fields.get("topic") or fields.get("name")
        if named:
            return str(named)
        wanted = fields.get("topic_id")
        return next((name for name, topic in self.topics.items() if topic.id == wanted), str(wanted))

    def offsets(self, place: Place) -> tuple[int, int]:
        """Return the start and end offset of a partition; `NOT_KNOWN` for both if no broker leads it."""
        topic = self.topics.get(place[0])
        found = [each for each in topic.partitions if each.index == place[1]] if topic else []
        return (found[0].start_offset, found[0].end_offset) if found else (NOT_KNOWN, NOT_KNOWN)


def client_of(asked: RecordedRequest) -> str:
    """Return the name of a client for the report."""
    return asked.client_id or "a client without an id"


def clock(seconds: float) -> str:
    """Return a time since the epoch as local time of day with milliseconds."""
    return datetime.fromtimestamp(seconds).strftime("%H:%M:%S.%f")[:-3]


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
