"""Requests of clients with quotas, behind the dispatcher: what is counted, answered and muted."""

from __future__ import annotations

import struct
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.api.context import Busy
from kcompat.api.dispatcher import Dispatcher
from kcompat.api.registry import Served
from kcompat.net.answers import CLOSE, Mode, Waiting
from kcompat.promise import Promise
from kcompat.protocol.api_keys import API_FACTS, ApiKey
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kcompat.protocol.messages.produce import ProduceRequest, ProduceResponse
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kcompat.protocol.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
from kcompat.protocol.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from kcompat.protocol.schema import ProtocolViolation
from kcompat.security.principals import Principal
from kcompat.security.quotas.clients import ClientQuotas
from kcompat.security.quotas.limits import CLIENT_ID, USER
from kcompat.security.quotas.rates import QuotaWindow
from support.asking import Client, services_of
from support.raw_client import request_frame, response_in
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.protocol.message import Message

APP = ((CLIENT_ID, "app"),)
MS = 1_000_000
"""Nanoseconds of a millisecond."""


class Mutable(Client):
    """A connection that notes for how long it is muted."""

    def __init__(self) -> None:
        super().__init__()
        self.muted: list[float] = []

    def mute(self, ms: float) -> None:
        self.muted.append(ms)


class Throttled:
    """A dispatcher with one API, and a client with quotas."""

    def __init__(
        self,
        handle: Callable[..., Any],
        key: ApiKey = ApiKey.HEARTBEAT,
        *,
        work_ns: Callable[[], int] = perf_counter_ns,
        **limits: float,
    ) -> None:
        self.clock = VirtualClock()
        self.quotas = ClientQuotas(QuotaWindow(), QuotaWindow())
        self.quotas.set(APP, limits)
        facts = API_FACTS[key]
        served = Served(key, lambda: handle, 0, facts.latest_stable, Mode.BLOCKING, facts.listeners)
        services = services_of(served=(served,), clock=self.clock, quotas=self.quotas)
        self._dispatcher = Dispatcher(services, work_ns)
        self.peer = Mutable()

    def send(self, request: Message, version: int, client_id: str = "app") -> Any:
        frame = request_frame(request, version, 7, client_id)[4:]
        return self._dispatcher.on_frame(self.peer, memoryview(bytearray(frame)))

    def response(self, request: Message, version: int, client_id: str = "app") -> Any:
        return read(self.send(request, version, client_id), request, version)


def read(answer: Any, request: Message, version: int) -> Any:
    return response_in(b"".join(answer)[4:], type(request), version)


class Work:
    """A handler that works for some time, and the clock that measures it."""

    def __init__(self) -> None:
        self.ns = 1
        self.takes_ms = 0
        self.outcome: Any = HeartbeatResponse()

    def handle(self, _context: Any, _request: Any) -> Any:
        self.ns += self.takes_ms * MS
        return self.outcome


@pytest.fixture
def work() -> Work:
    return Work()


PRODUCE = ProduceRequest(acks=1, timeout_ms=1000, topic_data=[])
SIZE = len(b"".join(PRODUCE.encode(9)))


def produced(*_: Any) -> ProduceResponse:
    return ProduceResponse()


def test_bytes_that_are_produced_above_the_rate_throttle_and_mute() -> None:
    client = Throttled(produced, ApiKey.PRODUCE, producer_byte_rate=SIZE / 10)
    assert client.response(PRODUCE, 9).throttle_time_ms == 0
    assert client.peer.muted == []
    assert client.response(PRODUCE, 9).throttle_time_ms == 10_000
    assert client.peer.muted == [10_000]


def test_a_produce_without_an_answer_is_muted_for_its_bytes_alone(work: Work) -> None:
    work.outcome, work.takes_ms = None, 1000
    client = Throttled(
        work.handle,
        ApiKey.PRODUCE,
        producer_byte_rate=SIZE / 10,
        request_percentage=1,
        work_ns=lambda: work.ns,
    )
    silent = ProduceRequest(acks=0, timeout_ms=1000, topic_data=[])
    assert client.send(silent, 9) is None
    assert client.send(silent, 9) is None
    assert client.peer.muted == [10_000]


def test_other_clients_are_served_as_without_quotas() -> None:
    client = Throttled(produced, ApiKey.PRODUCE, producer_byte_rate=1)
    for _ in range(5):
        assert client.response(PRODUCE, 9, "another").throttle_time_ms == 0
    assert client.peer.muted == []


def test_a_quota_of_a_user_follows_the_principal_of_the_connection() -> None:
    client = Throttled(produced, ApiKey.PRODUCE)
    client.quotas.set(((USER, "alice"),), {"producer_byte_rate": SIZE / 20})
    assert client.response(PRODUCE, 9).throttle_time_ms == 0
    client.peer.principal = Principal("User", "alice")
    assert client.response(PRODUCE, 9).throttle_time_ms == 10_000


def test_removing_all_quotas_ends_the_throttling() -> None:
    client = Throttled(produced, ApiKey.PRODUCE, producer_byte_rate=SIZE / 20)
    assert client.response(PRODUCE, 9).throttle_time_ms == 10_000
    client.quotas.set(APP, {})
    assert client.response(PRODUCE, 9).throttle_time_ms == 0


def test_time_of_requests_throttles_for_at_most_one_sample(work: Work) -> None:
    client = Throttled(work.handle, request_percentage=1, work_ns=lambda: work.ns)
    work.takes_ms = 50
    assert client.response(HeartbeatRequest(), 1).throttle_time_ms == 0
    work.takes_ms = 51
    # 101 ms within 10 s are 1.01 percent.
    assert client.response(HeartbeatRequest(), 1).throttle_time_ms == 100
    work.takes_ms = 5000
    assert client.response(HeartbeatRequest(), 1).throttle_time_ms == 1000
    assert client.peer.muted == [100, 1000]


def test_a_version_without_throttle_time_is_muted_all_the_same(work: Work) -> None:
    client = Throttled(work.handle, request_percentage=1, work_ns=lambda: work.ns)
    work.takes_ms = 1000
    client.response(HeartbeatRequest(), 0)
    assert client.peer.muted == [1000]


def test_a_response_without_throttle_time_is_muted_all_the_same(work: Work) -> None:
    work.outcome = SaslHandshakeResponse()
    client = Throttled(work.handle, ApiKey.SASL_HANDSHAKE, request_percentage=1, work_ns=lambda: work.ns)
    work.takes_ms = 1000
    assert client.response(SaslHandshakeRequest(), 1) == SaslHandshakeResponse()
    assert client.peer.muted == [1000]


def test_time_in_which_a_request_waits_does_not_count(work: Work) -> None:
    later: Promise[HeartbeatResponse] = Promise()
    work.outcome = later
    client = Throttled(work.handle, request_percentage=1, work_ns=lambda: work.ns)
    work.takes_ms = 101
    waiting = client.send(HeartbeatRequest(), 1)
    assert isinstance(waiting, Waiting)
    assert client.peer.muted == []
    work.ns += 60_000 * MS
    later.complete(HeartbeatResponse())
    assert read(waiting.promise.value, HeartbeatRequest(), 1).throttle_time_ms == 100
    assert client.peer.muted == [100]


def test_a_request_that_is_worked_on_elsewhere_is_counted_when_it_is_answered() -> None:
    outcome: Promise[Any] = Promise()
    client = Throttled(lambda *_: Busy(outcome, holds=1), ApiKey.PRODUCE, producer_byte_rate=SIZE / 20)
    waiting = client.send(PRODUCE, 9)
    assert isinstance(waiting, Waiting)
    assert client.peer.muted == []
    outcome.complete(ProduceResponse())
    assert read(waiting.promise.value, PRODUCE, 9).throttle_time_ms == 10_000


def test_the_longer_of_two_throttle_times_counts(work: Work) -> None:
    work.outcome, work.takes_ms = ProduceResponse(), 101
    client = Throttled(
        work.handle,
        ApiKey.PRODUCE,
        producer_byte_rate=SIZE / 20,
        request_percentage=1,
        work_ns=lambda: work.ns,
    )
    assert client.response(PRODUCE, 9).throttle_time_ms == 10_000
    assert client.peer.muted == [10_000]


def test_requests_of_other_brokers_cost_nothing(work: Work) -> None:
    work.outcome, work.takes_ms = WriteTxnMarkersResponse(), 5000
    client = Throttled(work.handle, ApiKey.WRITE_TXN_MARKERS, request_percentage=1, work_ns=lambda: work.ns)
    client.response(WriteTxnMarkersRequest(), 1)
    assert client.peer.muted == []


def test_records_of_a_share_fetch_are_sent_and_throttle() -> None:
    rows = [
        ShareFetchResponse.ShareFetchableTopicResponse(
            bytes(16),
            [
                ShareFetchResponse.PartitionData(records=bytes(2000)),
            ],
        )
    ]
    client = Throttled(
        lambda *_: ShareFetchResponse(responses=rows), ApiKey.SHARE_FETCH, consumer_byte_rate=100
    )
    answer = client.response(ShareFetchRequest(), 1)
    assert answer.throttle_time_ms == 10_000
    assert len(answer.responses[0].partitions[0].records) == 2000


def test_a_handler_that_fails_is_answered_and_counted(work: Work) -> None:
    def fail(*_: Any) -> None:
        work.ns += 1000 * MS
        raise ZeroDivisionError("a bug")

    client = Throttled(fail, request_percentage=1, work_ns=lambda: work.ns)
    answer = client.response(HeartbeatRequest(), 1)
    assert (answer.error_code, answer.throttle_time_ms) == (ErrorCode.UNKNOWN_SERVER_ERROR, 1000)


def test_a_request_that_closes_the_connection_closes_it() -> None:
    def refuse(*_: Any) -> None:
        raise ProtocolViolation("no such request")

    client = Throttled(refuse, request_percentage=1)
    assert client.send(HeartbeatRequest(), 1) is CLOSE


def test_a_damaged_header_closes_the_connection() -> None:
    client = Throttled(produced, request_percentage=1)
    cut = memoryview(bytearray(struct.pack(">hhih", ApiKey.HEARTBEAT, 1, 7, 100)))
    assert client._dispatcher.on_frame(client.peer, cut) is CLOSE
