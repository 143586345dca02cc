"""Clients with quotas over the wire: who is throttled, for how long, and who is not.

The window is two samples of one second, so that throttle times are short: the quota of one second may be
used at once.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Broker
from kcompat.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from kcompat.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.eventually import limit_s
from support.raw_client import RawClient
from support.raw_requests import create_topic

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kcompat.protocol.message import Message

RATE = 100_000
"""Bytes per second of the tests' quotas."""
WINDOW = {"quota.window.num": "2", "quota.window.size.seconds": "1"}
TIMER_S = 0.05
"""Seconds by which a clock may be ahead of another one."""


def connect(broker: Broker, client_id: str) -> RawClient:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    return RawClient((host, int(port)), client_id=client_id)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(config=WINDOW) as broker:
        with connect(broker, "admin") as admin:
            assert create_topic(admin, "t") == 0
        yield broker


@pytest.fixture
def client(broker: Broker) -> Iterator[RawClient]:
    with connect(broker, "app") as client:
        yield client


def set_quotas(broker: Broker, client_id: str | None, **quotas: float | None) -> None:
    """Set the quotas of a client id; None for a value removes a quota."""
    changes = [
        AlterClientQuotasRequest.OpData(key, value or 0.0, remove=value is None)
        for key, value in quotas.items()
    ]
    entity = [AlterClientQuotasRequest.EntityData("client-id", client_id)]
    request = AlterClientQuotasRequest([AlterClientQuotasRequest.EntryData(entity, changes)])
    with connect(broker, "admin") as admin:
        assert [row.error_code for row in admin.call(request, 1).entries] == [0]


def produce(size: int, acks: int = 1) -> ProduceRequest:
    records = build_batch([Record(0, 0, None, bytes(size))])
    row = ProduceRequest.PartitionProduceData(index=0, records=records)
    topic = ProduceRequest.TopicProduceData(name="t", partition_data=[row])
    return ProduceRequest(acks=acks, timeout_ms=10_000, topic_data=[topic])


def fetch() -> FetchRequest:
    row = FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    topic = FetchRequest.FetchTopic(topic="t", partitions=[row])
    return FetchRequest(
        replica_id=-1, max_wait_ms=0, min_bytes=1, max_bytes=1 << 20, session_epoch=-1, topics=[topic]
    )


def timed(client: RawClient, *requests: tuple[Message, int]) -> list[tuple[float, Any]]:
    """Send all requests at once; return each response and when it came, in seconds."""
    begun = monotonic()
    for request, version in requests:
        client.send(request, version)
    return [
        (monotonic() - begun, response)
        for response in (client.receive(type(request), version) for request, version in requests)
    ]


def test_a_producer_over_its_rate_is_answered_at_once_and_then_muted(
    broker: Broker, client: RawClient
) -> None:
    set_quotas(broker, "app", producer_byte_rate=RATE)
    within = client.call(produce(RATE // 2), 9)
    assert within.throttle_time_ms == 0
    (_, over), (answered_s, _) = timed(client, (produce(RATE), 9), (ApiVersionsRequest(), 0))
    # What was produced is one and a half of what the window holds; it has not moved yet, or by one sample.
    assert 300 < over.throttle_time_ms <= 510
    assert over.responses[0].partition_responses[0].error_code == 0
    assert answered_s >= over.throttle_time_ms / 1000 - TIMER_S


def test_a_throttled_client_delays_no_other(broker: Broker, client: RawClient) -> None:
    set_quotas(broker, "app", producer_byte_rate=RATE)
    begun = monotonic()
    throttled_s = client.call(produce(6 * RATE), 9).throttle_time_ms / 1000
    assert throttled_s > 4.5
    client.send(ApiVersionsRequest(), 0)
    with connect(broker, "another") as another:
        for _ in range(20):
            assert another.call(produce(RATE // 2), 9).throttle_time_ms == 0
    assert monotonic() - begun < throttled_s


def test_a_producer_that_wants_no_answer_is_muted(broker: Broker, client: RawClient) -> None:
    set_quotas(broker, None, producer_byte_rate=RATE)
    ((answered_s, _),) = timed(client, (ApiVersionsRequest(), 0))
    assert answered_s < limit_s(0.5)
    begun = monotonic()
    client.send(produce(RATE + RATE // 2, acks=0), 9)
    client.call(ApiVersionsRequest(), 0)
    assert monotonic() - begun >= 0.5 - TIMER_S


def test_a_consumer_over_its_rate_gets_nothing_and_then_all(broker: Broker, client: RawClient) -> None:
    client.call(produce(RATE + RATE // 2), 9)
    set_quotas(broker, "app", consumer_byte_rate=RATE)
    ((empty_s, empty),) = timed(client, (fetch(), 12))
    assert empty_s < limit_s(0.4)
    assert empty.responses == []
    assert empty.throttle_time_ms == pytest.approx(500, rel=0.1)
    begun = monotonic()
    while not (full := client.call(fetch(), 12)).responses:
        assert full.throttle_time_ms < 100, "it is nearly over"
    assert monotonic() - begun >= empty.throttle_time_ms / 1000 - TIMER_S
    assert full.throttle_time_ms == 0
    assert len(full.responses[0].partitions[0].records) > RATE


def test_a_quota_that_is_removed_throttles_no_more(broker: Broker, client: RawClient) -> None:
    set_quotas(broker, "app", producer_byte_rate=RATE)
    assert client.call(produce(RATE * 5 // 4), 9).throttle_time_ms > 0
    set_quotas(broker, "app", producer_byte_rate=None)
    assert client.call(produce(RATE * 5 // 4), 9).throttle_time_ms == 0


def test_quotas_outlive_a_restart(tmp_path: Path) -> None:
    for lives in range(2):
        with Broker(data_dir=tmp_path, config=WINDOW) as broker:
            if not lives:
                with connect(broker, "app") as client:
                    create_topic(client, "t")
                set_quotas(broker, "app", producer_byte_rate=RATE)
            with connect(broker, "app") as client:
                (entry,) = client.call(DescribeClientQuotasRequest(), 1).entries
                assert [(part.entity_type, part.entity_name) for part in entry.entity] == [
                    ("client-id", "app")
                ]
                assert client.call(produce(RATE * 5 // 4), 9).throttle_time_ms > 0
