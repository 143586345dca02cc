"""The evidence that is taken from embedded brokers, running or stopped."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from kcompat.errors import UsageError
from kcompat.instrumentation.faults.reports import Condition, FaultReport
from kcompat.instrumentation.recording.entry import ConnectionEvent
from kcompat.instrumentation.recording.exchange import RecordedEvent
from kcompat.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from kcompat.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kcompat.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kcompat.testing.story.gathering import evidence_of
from support.recorded_requests import recorded

if TYPE_CHECKING:
    from kcompat import Cluster


class Member(NamedTuple):
    """A broker of a cluster."""

    id: int
    is_running: bool


class Stub:
    """Two brokers with these requests."""

    def __init__(self, *requests: Any, is_running: bool = True) -> None:
        self.brokers = [Member(0, is_running=True), Member(1, is_running=False)]
        self._requests = list(requests)
        self._is_running = is_running

    @property
    def bootstrap_servers(self) -> str:
        if not self._is_running:
            raise UsageError("the cluster is not started")
        return "localhost:1,localhost:2"

    def requests(self) -> list[Any]:
        return self._requests

    def connection_events(self) -> list[Any]:
        events = [
            RecordedEvent(at * 10**9, what, "127.0.0.1", port)
            for at, port in ((1, 1), (2, 2), (6, 2), (9, 4))
            for what in ("opened", "complaint")
        ]
        return [ConnectionEvent(event, 0) for event in events]

    def condition(self, since: float) -> Condition:
        if not self._is_running:
            raise UsageError("the cluster is not started")
        return Condition([FaultReport("A fault", "dropped", since, None, 1)], creates_topics=False)

    @property
    def now_ms(self) -> int:
        return int((time.time() + 3600) * 1000)

    def topics(self) -> dict[str, Any]:
        return {"t": "a topic"}

    def groups(self) -> dict[str, Any]:
        return {"g": "a group"}


def request(at: float, client_id: str, port: int = 1) -> Any:
    return recorded(MetadataRequest(topics=[]), MetadataResponse(), at, client_id, 4, port)


def test_requests_of_the_test_are_told_from_earlier_ones_and_from_those_of_brokers() -> None:
    asked = ApiVersionsRequest("software", "1")
    peers = [
        *(recorded(asked, ApiVersionsResponse(), 6, number, 3, 1) for number in ("0", "1")),
        request(6, "broker-1-fetcher-0"),
    ]
    nameless = recorded(
        AllocateProducerIdsRequest(),
        AllocateProducerIdsResponse(),
        6,
        None,
        0,
        5,
    )
    own = [request(7, "late", 2), request(8, "2", 3), request(8, "1", 6)]
    stub = Stub(request(1, "early"), *peers, nameless, request(7, "early"), *own)
    evidence = evidence_of(cast("Cluster", stub), since=5.0)
    assert [each.client_id for each in evidence.requests] == ["late", "2", "1"]
    assert [each.client_id for each in evidence.others] == ["early"]
    assert [each.client_id for each in evidence.earlier] == ["early"]
    assert [each.time for each in evidence.complaints] == [6, 9]
    assert evidence.faults[0].began == 5.0
    assert (evidence.creates_topics, evidence.stopped) == (False, frozenset({1}))
    assert round(evidence.ahead_s) == 3600
    assert (evidence.address, *evidence.topics, *evidence.groups) == ("localhost:1,localhost:2", "t", "g")


def test_stopped_brokers_still_have_their_requests() -> None:
    evidence = evidence_of(cast("Cluster", Stub(request(7, "late", 4), is_running=False)), since=5.0)
    assert [each.client_id for each in evidence.requests] == ["late"]
    assert (dict(evidence.topics), dict(evidence.groups)) == ({}, {})
