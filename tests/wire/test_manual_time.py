"""Time that a test moves ahead: the calls, one advance or many, and clusters."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Broker, Cluster
from kcompat.errors import UsageError
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.cluster_asking import create as create_replicated
from support.eventually import eventually
from support.expiring_clients import (
    Member,
    Transaction,
    active_producers,
    client_of,
    initialized,
    write,
)
from support.raw_requests import (
    commit_offset,
    committed_offset,
    create_topic,
    describe_topic,
    earliest_offset,
    fetch,
    find_coordinator,
    produce,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

FEW = {"offsets.topic.num.partitions": 2, "transaction.state.log.num.partitions": 2}
"""Fewer partitions to create make the tests quicker; nothing here depends on their number."""


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(clock="manual", config=FEW) as started:
        yield started


# --- the call


def test_the_time_moves_by_what_is_said(broker: Broker) -> None:
    before = broker.now_ms
    broker.advance(timedelta(hours=1), days=1, minutes=2, seconds=3.5, ms=4)
    moved = broker.now_ms - before
    assert 90_123_504 <= moved < 90_123_504 + 60_000


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"days": -1}, "between 0 seconds and 100 years"),
        ({"days": 40_000}, "between 0 seconds and 100 years"),
        ({"days": 1e300}, "cannot be moved so"),
        ({"seconds": float("nan")}, "cannot be moved so"),
        ({"delta": "8 days"}, r"use advance\(days=8\)"),
    ],
)
def test_a_time_that_is_not_possible(broker: Broker, arguments: Any, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        broker.advance(**arguments)


def test_without_a_manual_clock_the_error_says_what_to_do() -> None:
    with pytest.raises(UsageError, match="clock='fast' is no clock: use 'real', or 'manual'"):
        Broker(clock="fast")
    broker = Broker()
    with pytest.raises(UsageError, match="not started"):
        broker.advance(days=1)
    with broker, pytest.raises(UsageError, match="make it with clock='manual'"):
        broker.advance(days=1)


def test_a_reset_keeps_the_time_and_what_follows_expires() -> None:
    with Broker(clock="manual", config=FEW) as broker:
        broker.add("t", "old")
        broker.advance(days=6)
        before = broker.now_ms
        broker.reset()
        assert broker.now_ms >= before
        broker.add("t", "new")
        broker.advance(days=6)
        assert [record.value for record in broker.records("t")] == [b"new"]
        broker.advance(days=2)
        assert broker.records("t") == []


# --- expire


def test_expire_looks_at_one_topic_or_at_all() -> None:
    with Broker(config=FEW) as broker, client_of(broker) as client:
        for topic in ("a", "b", "c"):
            create_topic(client, topic, configs={"retention.ms": "1000"})
            assert produce(client, topic, build_batch([Record(0, 5000, None, b"old")])).error_code == 0
        assert [earliest_offset(client, topic) for topic in "abc"] == [0, 0, 0]
        broker.expire("b")
        assert [earliest_offset(client, topic) for topic in "abc"] == [0, 1, 0]
        broker.expire()
        assert [earliest_offset(client, topic) for topic in "abc"] == [1, 1, 1]
        with pytest.raises(UsageError, match="there is no topic 'd'"):
            broker.expire("d")


def test_expire_aborts_transactions_without_moving_the_time() -> None:
    with Broker(config=FEW) as broker, client_of(broker) as client:
        create_topic(client, "t")
        transaction = Transaction(broker, client, "t", timeout_ms=1)

        def is_over() -> bool:
            broker.expire()
            return transaction.state() != "Ongoing"

        eventually(is_over)
        assert transaction.state() == "CompleteAbort"
        assert fetch(client, "t", 0).last_stable_offset == 2, "the markers are written"


def test_expire_forgets_transactional_ids_without_moving_the_time() -> None:
    with Broker(config={**FEW, "transactional.id.expiration.ms": 1}) as broker, client_of(broker) as client:
        initialized(client, "id", 1000)
        request = DescribeTransactionsRequest(["id"])

        def is_forgotten() -> bool:
            broker.expire()
            error = client.call(request, 0).transaction_states[0].error_code
            return bool(error == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)

        eventually(is_forgotten)


# --- one advance or many


def state_after(*steps: timedelta) -> object:
    """Return what clients see after so much time in these steps, on a broker with a bit of everything."""
    with Broker(clock="manual", config=FEW) as broker, client_of(broker) as client:
        for topic, days in (("one", 1), ("three", 3), ("never", -1)):
            create_topic(client, topic, configs={"retention.ms": str(86_400_000 * days if days > 0 else -1)})
            write(broker, client, topic)
        create_topic(client, "open")
        transaction = Transaction(broker, client, "open")
        member = Member(client, "member")
        member.commit("never", 3)
        eventually(lambda: find_coordinator(client, "outside") == 0)
        eventually(lambda: commit_offset(client, "outside", "never", 7) == 0)
        for step in steps:
            broker.advance(step)
        return (
            {topic: earliest_offset(client, topic) for topic in ("one", "three", "never", "open")},
            transaction.state(),
            active_producers(client, "open"),
            member.state(),
            [committed_offset(client, group, "never").committed_offset for group in ("member", "outside")],
        )


def cut(days: float, seed: int) -> list[timedelta]:
    """Cut a time into a dozen pieces, of seconds to days."""
    chance = Random(seed)
    at_s = sorted(min(10 ** chance.uniform(1, 6), days * 86_400) for _ in range(12))
    ends = [timedelta(), *(timedelta(seconds=each) for each in at_s), timedelta(days=days)]
    return [after - before for before, after in pairwise(ends)]


THOROUGH = pytest.mark.thorough("the same with other times")


@pytest.mark.parametrize(
    ("days", "seed"),
    [
        (2, 1),
        pytest.param(7.0005, 2, marks=THOROUGH),
        pytest.param(7.0005, 3, marks=THOROUGH),
        pytest.param(9, 4, marks=THOROUGH),
        pytest.param(9, 5, marks=THOROUGH),
    ],
)
def test_one_advance_leaves_what_many_small_ones_leave(days: float, seed: int) -> None:
    assert state_after(timedelta(days=days)) == state_after(*cut(days, seed))


# --- several brokers


def test_the_brokers_of_a_cluster_have_one_time() -> None:
    with Cluster(3, clock="manual", config=FEW) as cluster:
        create_replicated(cluster, 1, "t")
        with client_of(cluster.brokers[1]) as client:
            batch = build_batch([Record(0, cluster.now_ms, None, b"v")])
            assert produce(client, "t", batch, acks=-1).error_code == 0
            cluster.advance(days=8)
            assert earliest_offset(client, "t") == 1
            (row,) = describe_topic(client, "t").partitions
            assert sorted(row.isr_nodes) == [0, 1, 2], "the brokers were alive all the time"
            assert produce(client, "t", batch, acks=-1).error_code == 0


def test_a_killed_broker_is_given_up_when_its_session_ends() -> None:
    with Cluster(3, clock="manual", config={"zookeeper.session.timeout.ms": 300_000, **FEW}) as cluster:
        create_replicated(cluster, 2, "t")
        cluster.brokers[2].kill()
        assert cluster.leader_of("t", 0) == 2
        cluster.advance(minutes=6)
        eventually(lambda: cluster.leader_of("t", 0) in (0, 1))
        before = cluster.now_ms
        for each in (0, 1):
            cluster.brokers[each].kill()
        cluster.advance(hours=1)
        assert cluster.now_ms - before >= 3_600_000, "the time goes on without brokers"
