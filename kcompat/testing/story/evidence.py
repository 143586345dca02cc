"""The knowledge of a broker about the clients of one test, as values."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kcompat.instrumentation.groups import Group
    from kcompat.instrumentation.recording.entry import ConnectionEvent, RecordedRequest
    from kcompat.instrumentation.topics import Topic

Place = tuple[str, int]
"""A topic and the index of a partition."""
NOT_KNOWN: Final = -1


class Evidence(Struct, frozen=True):
    """The knowledge of a broker about the clients of one test."""

    address: str
    requests: Sequence[RecordedRequest]
    """Requests since the test began, the oldest first."""
    earlier: Sequence[RecordedRequest] = ()
    """Requests before the test began."""
    complaints: Sequence[ConnectionEvent] = ()
    """Reasons why the broker closed connections in the test."""
    topics: Mapping[str, Topic] = {}
    groups: Mapping[str, Group] = {}

    def answered(self, *apis: str) -> Iterator[tuple[RecordedRequest, dict[str, Any], dict[str, Any]]]:
        """Yield the requests of these APIs with their fields and those of their answers, in order."""
        for asked in self.requests:
            if asked.api in apis and (request := asked.request) and (response := asked.response):
                yield asked, request, response

    def topic_of(self, fields: Mapping[str, Any]) -> str:
        """Return the name of the topic that some fields of a message are about: by its id, if they have no
        name.
        """
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
    """Return the name of a client for people."""
    return asked.client_id or "a client without an id"


def clock(seconds: float) -> str:
    """Return a time since the epoch as local time of day with milliseconds."""
    return datetime.fromtimestamp(seconds).strftime("%H:%M:%S.%f")[:-3]


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
