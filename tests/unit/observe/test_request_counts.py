"""Requests by version: answered at once, later, again later; clients by their software."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from kcompat.net.answers import Mode, Waiting
from kcompat.observe.histogram import bucket_of
from kcompat.observe.request_counts import (
    MOST_SOFTWARES,
    NEWEST_DEPRECATED,
    OTHER,
    UNKNOWN,
    RequestObserver,
    Software,
    is_deprecated,
)
from kcompat.promise import Promise
from kcompat.protocol.api_keys import API_FACTS, ApiKey
from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from support.raw_client import request_frame
from support.recorded_broker import Peer, RecordedBroker

if TYPE_CHECKING:
    from kcompat.net.answers import Answer, Connection
    from kcompat.protocol.message import Message

MS = 1_000_000


class Observed:
    """A broker whose requests are counted, at times that the test chooses."""

    def __init__(self) -> None:
        self.broker = RecordedBroker()
        self.now_ns = 0
        self.observer = RequestObserver(lambda: self.broker.metadata, lambda: self.now_ns)
        self.broker.hooks.interception.add(self.observer)
        self.broker.hooks.observers.append(self.observer)
        self.peer = self.broker.open(1)

    def ask(self, request: Message, version: int, answer: Answer = None) -> None:
        self.broker.ask(self.peer, request_frame(request, version)[4:], answer)

    def total(self, name: str) -> int:
        counted = [each for each in self.observer.counts() if each.name == name]
        return sum(sum(each.at_once) + sum(each.total) for each in counted)


@pytest.fixture
def observed() -> Observed:
    return Observed()


def test_requests_are_counted_by_version(observed: Observed) -> None:
    for version in (9, 9, 12):
        observed.ask(MetadataRequest(), version, [b"answer"])
    counts = {(each.name, each.version): sum(each.at_once) for each in observed.observer.counts()}
    assert counts == {("Metadata", 9): 2, ("Metadata", 12): 1}


def test_a_waiting_request_counts_when_it_is_answered(observed: Observed) -> None:
    first: Promise[Answer] = Promise()
    second: Promise[Answer] = Promise()
    observed.ask(MetadataRequest(), 9, Waiting(first, Mode.BLOCKING))
    assert observed.total("Metadata") == 0
    observed.now_ns = 3 * MS
    first.complete(Waiting(second, Mode.BLOCKING))
    assert observed.total("Metadata") == 0
    observed.now_ns = 10 * MS
    second.complete([b"answer"])
    (counts,) = observed.observer.counts()
    assert counts.total[bucket_of(10 * MS)] == counts.remote[bucket_of(10 * MS)] == 1
    assert sum(counts.local) == observed.total("Metadata") == 1
    assert not any(counts.at_once)


@pytest.mark.parametrize("frame", [b"", b"\0\1", b"\xff\xff\0\0\0\0\0\0", b"\0\3\x7f\xff\0\0\0\0\0\0"])
def test_frames_that_are_no_request_are_served_and_not_counted(observed: Observed, frame: bytes) -> None:
    observed.broker.ask(observed.peer, frame, [b"answer"])
    assert list(observed.observer.counts()) == []


def test_deprecated_versions_are_counted_by_software(observed: Observed) -> None:
    observed.ask(ListOffsetsRequest(), 0)
    observed.ask(ApiVersionsRequest("librdkafka", "2.3.0"), 3)
    observed.ask(ListOffsetsRequest(), 0)
    observed.ask(ListOffsetsRequest(), 1)
    named = Software("librdkafka", "2.3.0")
    assert observed.observer.deprecated == {("ListOffsets", 0, UNKNOWN): 1, ("ListOffsets", 0, named): 1}
    assert observed.observer.software_of(observed.peer) == named
    observed.broker.close(observed.peer, "closed")
    assert observed.observer.software_of(observed.peer) == UNKNOWN


def test_names_of_software_that_a_broker_refuses_are_not_kept(observed: Observed) -> None:
    observed.ask(ApiVersionsRequest('bad"name', "1"), 3)
    assert observed.observer.software_of(observed.peer) == UNKNOWN


def test_a_client_cannot_make_up_names_without_end(observed: Observed) -> None:
    for number in range(MOST_SOFTWARES + 5):
        observed.ask(ApiVersionsRequest("tool", str(number)), 3)
    assert observed.observer.software_of(observed.peer) == OTHER
    observed.ask(ApiVersionsRequest("tool", "0"), 3)
    assert observed.observer.software_of(observed.peer) == Software("tool", "0")


def test_an_exception_of_the_broker_passes(observed: Observed) -> None:
    def fail(*_: object) -> Answer:
        raise ValueError("broken")

    frame = memoryview(bytearray(request_frame(MetadataRequest(), 9)[4:]))
    with pytest.raises(ValueError, match="broken"):
        observed.observer.intercept(fail, cast("Connection", Peer(2)), frame)
    assert observed.total("Metadata") == 0


def test_each_deprecated_version_exists_and_is_not_the_newest() -> None:
    for key, newest in NEWEST_DEPRECATED.items():
        assert newest < API_FACTS[key].last
        assert is_deprecated(key, newest)
        assert not is_deprecated(key, newest + 1)
    assert not is_deprecated(ApiKey.JOIN_GROUP, 0)
