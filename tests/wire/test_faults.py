"""`broker.faults`: what clients of an embedded broker see, and that nothing is left when a fault ends."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from kcompat import Broker
from kcompat.errors import UsageError
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.raw_client import RawClient
from support.raw_requests import create_topic, describe_topic, fetch, fetch_request, produce

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCH = build_batch([Record(0, 1, None, b"value")])
NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def client_of(broker: Broker, client_id: str = "raw") -> RawClient:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    return RawClient((host, int(port)), client_id=client_id)


@pytest.fixture
def client(broker: Broker) -> Iterator[RawClient]:
    with client_of(broker) as client:
        yield client


def test_a_fault_strikes_the_partition_as_often_as_it_should(broker: Broker, client: RawClient) -> None:
    create_topic(client, "struck", 2)
    with broker.faults.fail("Produce", NOT_LEADER.name, topic="struck", partition=1, times=2) as fault:
        errors = [produce(client, "struck", BATCH, partition).error_code for partition in (1, 0, 1, 1)]
        assert errors == [NOT_LEADER, 0, NOT_LEADER, 0]
        assert fault.struck == 2
        assert repr(fault) == (
            "<fault: Produce of struck-1 fails with NOT_LEADER_OR_FOLLOWER, at most 2, struck 2, over>"
        )
    assert fetch(client, "struck", 0, 1).high_watermark == 1


def test_a_fetch_of_two_partitions_fails_for_one(broker: Broker, client: RawClient) -> None:
    """The records of the other come from its file, by versions with a name and with an id of the topic."""
    create_topic(client, "fetched", 2)
    for partition in (0, 1):
        produce(client, "fetched", BATCH, partition)
    request = fetch_request("fetched", max_wait_ms=10_000)
    request.topics[0].partitions += fetch_request("fetched", partition=1).topics[0].partitions
    request.topics[0].topic_id = describe_topic(client, "fetched").topic_id
    with broker.faults.fail("Fetch", NOT_LEADER.name, topic="fetched", partition=1) as fault:
        for version in (2, 4, 11, 12, 13, 16):  # 2 converts the records while they are sent
            (topic,) = client.call(request, version).responses
            rows = {row.partition_index: row for row in topic.partitions}
            assert {index: row.error_code for index, row in rows.items()} == {0: 0, 1: NOT_LEADER}
            if version > 2:
                assert bytes(rows[0].records)[16:] == bytes(BATCH)[16:], "all but the epoch of the leader"
            assert b"value" in bytes(rows[0].records)
        assert fault.struck == 6


def test_a_connection_closes_in_place_of_an_answer(broker: Broker, client: RawClient) -> None:
    create_topic(client, "closed", 1)
    with broker.faults.disconnect("Produce", client_id="gone", served=True) as fault:
        with client_of(broker, "gone") as gone, pytest.raises(ConnectionError):
            produce(gone, "closed", BATCH)
        assert produce(client, "closed", BATCH).base_offset == 1, "the first one was served"
        assert fault.struck == 1


def test_a_lost_answer_does_not_come_until_the_fault_ends(broker: Broker, client: RawClient) -> None:
    create_topic(client, "lost", 1)
    request = fetch_request("lost")
    with broker.faults.drop("Fetch", client_id="lost", times=1), client_of(broker, "lost") as lost:
        lost.send(request, 11)
        lost.send(request, 11)  # served, and answered behind the lost answer, so never
        assert produce(client, "lost", BATCH).base_offset == 0
        broker.faults.clear()
        with pytest.raises(ConnectionError):
            lost.receive(type(request), 11)


def test_a_request_comes_late(broker: Broker, client: RawClient) -> None:
    create_topic(client, "late", 1)
    began = time.monotonic()
    with (
        broker.faults.delay("Metadata", ms=100, client_id="late", times=1),
        client_of(broker, "late") as late,
    ):
        assert describe_topic(late, "late").error_code == 0
    assert time.monotonic() - began >= 0.1


def test_a_client_falls_back_to_the_oldest_version_of_api_versions(broker: Broker, client: RawClient) -> None:
    request = ApiVersionsRequest("test", "1")
    with broker.faults.fail("ApiVersions", "UNSUPPORTED_VERSION", times=1):
        client.send(request, 3)
        refused = client.receive(ApiVersionsRequest, 0)
    assert refused.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [row.api_key for row in refused.api_keys] == [ApiVersionsRequest.api_key]
    assert client.call(request, 3).error_code == 0


def test_faults_end_with_their_block_with_clear_and_with_the_broker() -> None:
    with Broker() as broker, client_of(broker) as client:
        fault = broker.faults.fail("Metadata", "UNKNOWN_SERVER_ERROR")
        broker.faults.delay("Fetch", ms=1, rate=0.1)
        broker.faults.seed(5)
        assert repr(broker.faults) == (
            "<faults with seed 5: Metadata fails with UNKNOWN_SERVER_ERROR; "
            "Fetch is served 1 ms late, 10% of them>"
        )
        assert describe_topic(client, "t").error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        broker.faults.clear()
        assert repr(broker.faults) == "<faults with seed 5: none>"
        assert describe_topic(client, "t").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        last = broker.faults.throttle(ms=5)
    fault.remove()
    last.remove()
    with pytest.raises(UsageError, match="the broker is not started"):
        broker.faults.clear()
