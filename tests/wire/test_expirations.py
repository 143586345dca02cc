"""Everything that expires in a broker whose time is moved ahead: when, and in which order."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Broker
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kcompat.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from kcompat.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.protocol.messages.init_producer_id import InitProducerIdRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.protocol.messages.share_fetch import ShareFetchRequest
from kcompat.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from kcompat.security.credentials import SCRAM_SHA_256
from support.compacted_topics import fill
from support.eventually import eventually
from support.expiring_clients import (
    SESSION_S,
    TIMEOUT_S,
    Member,
    Transaction,
    active_producers,
    client_of,
    write,
)
from support.raw_client import RawClient
from support.raw_requests import (
    commit_offset,
    committed_offset,
    create_topic,
    describe_topic,
    earliest_offset,
    fetch,
    fetch_request,
    find_coordinator,
    produce,
    read_all,
)
from support.scram_logins import ScramLogin, ScramPorts, set_password, tried

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FEW = {"offsets.topic.num.partitions": 2, "transaction.state.log.num.partitions": 2}
"""Fewer partitions to create make the tests quicker; nothing here depends on their number."""
_numbers = count()


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(clock="manual", config=FEW) as started:
        yield started


@pytest.fixture
def client(broker: Broker) -> Iterator[RawClient]:
    with client_of(broker) as opened:
        yield opened


@pytest.fixture
def name() -> str:
    """A name for a topic, a group and an id."""
    return f"n{next(_numbers)}"


# --- logs


def test_segments_go_when_their_retention_is_over_and_their_files_a_minute_later(
    name: str, tmp_path: Path
) -> None:
    with Broker(data_dir=tmp_path, clock="manual") as broker, client_of(broker) as client:
        create_topic(client, name, configs={"retention.ms": "86400000"})
        write(broker, client, name)
        broker.advance(hours=23)
        assert earliest_offset(client, name) == 0
        broker.advance(hours=1)
        assert earliest_offset(client, name) == 1
        assert list(tmp_path.rglob("*.deleted"))
        broker.advance(minutes=1)
        assert not list(tmp_path.rglob("*.deleted"))


def test_a_log_is_compacted_when_it_was_dirty_for_too_long(
    broker: Broker, client: RawClient, name: str
) -> None:
    lag = {"min.cleanable.dirty.ratio": "1", "max.compaction.lag.ms": "3600000"}
    configs = {
        "cleanup.policy": "compact",
        "segment.bytes": "1000",
        "message.timestamp.type": "LogAppendTime",
    }
    create_topic(client, name, configs={**configs, **lag})
    fill(client, name, rounds=4)
    broker.advance(minutes=59)
    assert len(list(read_all(client, name))) == 20
    broker.advance(minutes=2)
    assert len(list(read_all(client, name))) < 20


def test_a_producer_that_is_silent_for_a_day_is_forgotten(
    broker: Broker, client: RawClient, name: str
) -> None:
    create_topic(client, name)
    answer = client.call(InitProducerIdRequest(None, TIMEOUT_S * 1000), 3)
    batch = build_batch(
        [Record(0, broker.now_ms, None, b"v")],
        producer_id=answer.producer_id,
        producer_epoch=0,
        base_sequence=0,
    )
    assert produce(client, name, batch).error_code == 0
    broker.advance(hours=23)
    assert active_producers(client, name) == [answer.producer_id]
    broker.advance(hours=2)
    assert active_producers(client, name) == []


# --- transactions


def test_a_transaction_is_aborted_after_its_timeout(broker: Broker, client: RawClient, name: str) -> None:
    create_topic(client, name)
    transaction = Transaction(broker, client, name)
    assert fetch(client, name, 0).last_stable_offset == 0
    broker.advance(seconds=TIMEOUT_S - 5)
    assert transaction.state() == "Ongoing"
    broker.advance(seconds=6)
    assert transaction.state() == "CompleteAbort"
    assert fetch(client, name, 0).last_stable_offset == 2, "the markers are written"
    assert transaction.commit() == ErrorCode.PRODUCER_FENCED


def test_the_id_of_an_open_transaction_expires_a_week_after_its_abort(
    broker: Broker, client: RawClient, name: str
) -> None:
    create_topic(client, name)
    transaction = Transaction(broker, client, name)
    broker.advance(days=7)
    assert transaction.state() == "CompleteAbort", "a week has passed since it began, not since it ended"
    broker.advance(minutes=5)
    assert transaction.state() == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def test_all_that_follows_from_an_open_transaction_happens_in_one_advance(
    broker: Broker, client: RawClient, name: str
) -> None:
    create_topic(client, name)
    transaction = Transaction(broker, client, name)
    broker.advance(days=8)
    assert transaction.state() == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert earliest_offset(client, name) == 2, "both the record and its marker were past the retention"
    assert active_producers(client, name) == []


# --- groups


def test_a_member_that_is_silent_for_its_session_is_removed(
    client: RawClient, broker: Broker, name: str
) -> None:
    create_topic(client, name)
    member = Member(client, name)
    member.commit(name, 5)
    for _ in range(3):
        broker.advance(seconds=SESSION_S - 5)
        assert member.heartbeat() == 0
    broker.advance(seconds=SESSION_S + 1)
    assert member.state() == "Empty"
    assert member.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


def test_offsets_expire_a_week_after_their_group_lost_its_last_member(
    client: RawClient, broker: Broker, name: str
) -> None:
    create_topic(client, name)
    member = Member(client, name)
    broker.advance(seconds=SESSION_S - 5)
    member.commit(name, 5)
    assert member.heartbeat() == 0
    broker.advance(days=7)
    assert committed_offset(client, name, name).committed_offset == 5, (
        "the session counts as time of the group"
    )
    broker.advance(seconds=SESSION_S + 10)
    assert committed_offset(client, name, name).committed_offset == -1
    assert member.state() == "Dead"


def test_offsets_that_were_committed_from_outside_expire(
    client: RawClient, broker: Broker, name: str
) -> None:
    create_topic(client, name)
    eventually(lambda: find_coordinator(client, name) == 0)
    eventually(lambda: commit_offset(client, name, name, 7) == 0)
    broker.advance(days=6, hours=23)
    assert committed_offset(client, name, name).committed_offset == 7
    broker.advance(hours=1, seconds=1)
    assert committed_offset(client, name, name).committed_offset == -1


def test_records_of_a_share_group_come_again_when_their_locks_end(
    client: RawClient, broker: Broker, name: str
) -> None:
    create_topic(client, name)
    topic_id = (
        client.call(MetadataRequest([MetadataRequest.MetadataRequestTopic(name=name)]), 12).topics[0].topic_id
    )
    eventually(lambda: find_coordinator(client, name) == 0)
    eventually(lambda: client.call(ShareGroupHeartbeatRequest(name, "m", 0, None, [name]), 1).error_code == 0)

    def deliveries(epoch: int) -> dict[int, int]:
        topics = (
            [ShareFetchRequest.FetchTopic(topic_id, [ShareFetchRequest.FetchPartition(0)])]
            if not epoch
            else []
        )
        request = ShareFetchRequest(
            name, "m", epoch, max_wait_ms=100, min_bytes=1, max_records=10, batch_size=10, topics=topics
        )
        answer = client.call(request, 2)
        rows = [row for topic in answer.responses for row in topic.partitions]
        acquired = [each for row in rows for each in row.acquired_records or ()]
        return {each.first_offset: each.delivery_count for each in acquired}

    deliveries(0)
    epochs = count(1)

    def first() -> dict[int, int]:  # the group begins at the latest offset, when its state is there
        write(broker, client, name)
        return deliveries(next(epochs))

    (offset,) = eventually(first)
    assert deliveries(next(epochs)) == {}
    broker.advance(seconds=29)
    assert deliveries(next(epochs)) == {}
    broker.advance(seconds=2)
    assert deliveries(next(epochs)) == {offset: 2}


# --- logins and quotas


@contextmanager
def with_logins(**config: Any) -> Iterator[tuple[Broker, ScramPorts]]:
    ports = ScramPorts()
    with Broker(clock="manual", config={**ports.settings, **config}) as broker:
        set_password(ports.plain, "alice", "secret", SCRAM_SHA_256)
        yield broker, ports


def test_delegation_tokens_expire_and_are_removed() -> None:
    with (
        with_logins(**{"delegation.token.master.key": "key"}) as (broker, ports),
        ScramLogin(ports.sasl, SCRAM_SHA_256, "alice", "secret") as client,
    ):
        day_ms = 86_400_000
        token = client.call(CreateDelegationTokenRequest(max_lifetime_ms=2 * day_ms), 3)
        assert token.error_code == 0
        broker.advance(hours=23)
        assert len(client.call(DescribeDelegationTokenRequest(owners=None), 3).tokens) == 1
        broker.advance(hours=2)
        assert client.call(DescribeDelegationTokenRequest(owners=None), 3).tokens == []
        password = "unknown"
        assert tried(ports.sasl, SCRAM_SHA_256, token.token_id, password, ",tokenauth=true").error


def test_a_login_ends_with_its_session() -> None:
    with (
        with_logins(**{"connections.max.reauth.ms": 3_600_000}) as (broker, ports),
        ScramLogin(ports.sasl, SCRAM_SHA_256, "alice", "secret") as client,
    ):
        broker.advance(minutes=59)
        client.call(MetadataRequest(topics=[]), 4)
        broker.advance(minutes=2)
        with pytest.raises(ConnectionError):
            client.call(MetadataRequest(topics=[]), 4)


def test_the_windows_of_quotas_pass(broker: Broker, client: RawClient, name: str) -> None:
    entry = AlterClientQuotasRequest.EntryData(
        [AlterClientQuotasRequest.EntityData("client-id", name)],
        [AlterClientQuotasRequest.OpData("producer_byte_rate", 1000.0)],
    )
    assert client.call(AlterClientQuotasRequest([entry]), 1).entries[0].error_code == 0
    create_topic(client, name)
    host, _, port = broker.bootstrap_servers.rpartition(":")

    def throttled_ms() -> int:
        with RawClient((host, int(port)), client_id=name) as other:
            request_of = build_batch([Record(0, broker.now_ms, None, b"v" * 100_000)])
            data = ProduceRequest.PartitionProduceData(0, memoryview(request_of))
            topic = ProduceRequest.TopicProduceData(name=name, partition_data=[data])
            return int(
                other.call(ProduceRequest(acks=1, timeout_ms=5000, topic_data=[topic]), 9).throttle_time_ms
            )

    first = throttled_ms()
    assert first > 10_000
    assert throttled_ms() > 1.5 * first
    broker.advance(minutes=5)
    assert throttled_ms() == pytest.approx(first, rel=0.2)


def test_an_advance_ends_waiting_fetches_and_closes_no_connection(
    broker: Broker, client: RawClient, name: str
) -> None:
    create_topic(client, name)
    client.send(fetch_request(name, max_wait_ms=3_600_000), 11)
    broker.advance(days=8)
    assert client.receive(FetchRequest, 11).responses[0].partitions[0].error_code == 0
    assert describe_topic(client, name).error_code == 0
