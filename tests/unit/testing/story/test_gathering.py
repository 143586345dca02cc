"""The evidence that is taken from embedded brokers, running or stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from kcompat.errors import UsageError
from kcompat.instrumentation.recording.entry import ConnectionEvent
from kcompat.instrumentation.recording.exchange import Event
from kcompat.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kcompat.testing.story.gathering import evidence_of
from support.recorded_requests import recorded

if TYPE_CHECKING:
    from kcompat import Cluster


class Member(NamedTuple):
    """A broker of a cluster."""

    id: int


class Stub:
    """Two brokers with these requests."""

    def __init__(self, *requests: Any, is_running: bool = True) -> None:
        self.brokers = [Member(0), Member(1)]
        self._requests = list(requests)
        self._is_running = is_running

    @property
    def bootstrap_servers(self) -> str:
        if not self._is_running:
            raise UsageError("the cluster is not started")
        return "localhost:1,localhost:2"

    def requests(self) -> list[Any]:
        return self._requests

    def connection_events(self, since: float) -> list[Any]:
        events = [Event(at * 10**9, what, "localhost") for at in (1, 9) for what in ("opened", "complaint")]
        return [ConnectionEvent(event, 0) for event in events if event.at_ns >= since * 1e9]

    def topics(self) -> dict[str, Any]:
        return {"t": "a topic"}

    def groups(self) -> dict[str, Any]:
        return {"g": "a group"}


def request(at: float, client_id: str) -> Any:
    return recorded(MetadataRequest(topics=[]), MetadataResponse(), at, client_id, 4)


def test_requests_of_the_test_are_told_from_earlier_ones_and_from_those_of_brokers() -> None:
    peers = [request(6, "0"), request(6, "1"), request(6, "broker-1-fetcher-0")]
    stub = Stub(request(1, "early"), *peers, request(7, "late"), request(8, "2"))
    evidence = evidence_of(cast("Cluster", stub), since=5.0)
    assert [each.client_id for each in evidence.requests] == ["late", "2"]
    assert [each.client_id for each in evidence.earlier] == ["early"]
    assert [each.time for each in evidence.complaints] == [9]
    assert (evidence.address, *evidence.topics, *evidence.groups) == ("localhost:1,localhost:2", "t", "g")


def test_stopped_brokers_still_have_their_requests() -> None:
    evidence = evidence_of(cast("Cluster", Stub(request(7, "late"), is_running=False)), since=5.0)
    assert [each.client_id for each in evidence.requests] == ["late"]
    assert (dict(evidence.topics), dict(evidence.groups)) == ({}, {})
