"""`expects` of an embedded broker and a cluster: what it waits for, and its complaints."""

from __future__ import annotations

import asyncio
import threading
import time
import traceback
import unittest
from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Broker, Cluster
from kcompat.errors import UsageError
from support.eventually import limit_s
from support.raw_client import RawClient
from support.raw_requests import create_topic, delete_topic

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(config={"num.partitions": 2}) as started:
        yield started


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A name that no other test has."""
    return str(request.node.name)


def later(work: Any) -> threading.Thread:
    """Begin some work in a thread, a moment after the test has begun to wait."""
    thread = threading.Timer(0.05, work)
    thread.start()
    return thread


def test_the_records_of_the_block(broker: Broker, topic: str) -> None:
    broker.add(topic, "before")
    with broker.expects(topic, 2) as got:
        assert got == []
        broker.add(topic, {"n": 1}, partition=1)
        broker.add(topic, {"n": 2}, partition=0)
    broker.add(topic, "behind")
    assert [(each.partition, each.json()) for each in got] == [(0, {"n": 2}), (1, {"n": 1})]


def test_the_end_of_the_block_waits_for_an_append(broker: Broker, topic: str) -> None:
    broker.add(topic, "before")
    with broker.expects(topic, 1, timeout=limit_s(30)) as got:
        thread = later(lambda: broker.add(topic, "late"))
        began = time.monotonic()
    thread.join()
    assert [each.text for each in got] == ["late"]
    assert time.monotonic() - began < limit_s(10)


def test_a_topic_that_is_created_meanwhile(broker: Broker, topic: str) -> None:
    with broker.expects(topic, 2, timeout=limit_s(30)) as got:
        thread = later(lambda: broker.add_all(topic, ["a", "b"]))
    thread.join()
    assert [each.text for each in got] == ["a", "b"]


def test_a_topic_that_is_created_again_is_another_one(broker: Broker, topic: str) -> None:
    broker.add_all(topic, ["old"] * 10)
    host, _, port = broker.bootstrap_servers.rpartition(":")
    with broker.expects(topic, 1, timeout=limit_s(30)) as got, RawClient((host, int(port))) as client:
        assert delete_topic(client, topic) == 0
        assert create_topic(client, topic) == 0
        broker.add(topic, "new")
    assert [each.text for each in got] == ["new"]


def test_at_least_so_many(broker: Broker, topic: str) -> None:
    with broker.expects(topic, at_least=1) as got:
        broker.add_all(topic, ["a", "b", "c"])
    assert len(got) == 3


def test_none(broker: Broker, topic: str) -> None:
    broker.add(topic, "before")
    with broker.expects(topic, 0) as got:
        pass
    assert got == []
    with (
        pytest.raises(AssertionError, match=f"^expected 0 records in '{topic}', but 1 came:\n"),
        broker.expects(topic, 0),
    ):
        broker.add(topic, "v")


def test_only_some_records_count(broker: Broker, topic: str) -> None:
    with broker.expects(topic, 1, where=lambda record: record.key == b"mine") as got:
        broker.add_all(topic, [("other", "x"), ("mine", "y")])
    assert [each.text for each in got] == ["y"]


def test_too_few_records_are_listed_with_those_of_other_topics(broker: Broker, topic: str) -> None:
    def produce() -> None:
        broker.add(topic, '{"id": 1}', "k1", {"trace": "abc"}, partition=0, timestamp=0)
        broker.add(topic, b"\x00\x01", partition=1, timestamp=1)
        broker.add(f"{topic}s", "elsewhere")

    with pytest.raises(AssertionError) as raised, broker.expects(topic, 3, timeout=0.05) as got:
        produce()
    assert str(raised.value).splitlines() == [
        f"expected 3 records in '{topic}' within 0.05 s, but 2 came:",
        f"  {topic}-0@0  key 'k1'  value {{\"id\": 1}}  headers {{'trace': 'abc'}}  1970-01-01T00:00:00.000Z",
        f"  {topic}-1@0  key null  value 0x0001  1970-01-01T00:00:00.001Z",
        f"records came in other topics: '{topic}s' (1)",
    ]
    assert len(got) == 2


def test_too_many_records(broker: Broker, topic: str) -> None:
    with pytest.raises(AssertionError) as raised, broker.expects(topic, 1):
        broker.add_all(topic, [str(n) for n in range(40)])
    lines = str(raised.value).splitlines()
    assert lines[0] == f"expected 1 record in '{topic}', but 40 came:"
    assert (len(lines), lines[-1]) == (22, "  ... and 20 more")


def test_records_that_do_not_count_are_listed(broker: Broker, topic: str) -> None:
    with (
        pytest.raises(AssertionError) as raised,
        broker.expects(topic, at_least=1, timeout=0, where=lambda record: record.value == b"wanted"),
    ):
        broker.add(topic, "unwanted")
    lines = str(raised.value).splitlines()
    assert lines[0] == f"expected at least 1 record in '{topic}' that pass `where` within 0 s, but none came"
    assert lines[1] == "1 came that `where` does not pass:"
    assert "'unwanted'" in lines[2]


def test_a_topic_that_does_not_exist(broker: Broker, topic: str) -> None:
    with pytest.raises(AssertionError) as raised, broker.expects(topic, 1, timeout=0.01):
        pass
    assert str(raised.value).splitlines() == [
        f"expected 1 record in '{topic}' within 0.01 s, but none came",
        f"there is no topic '{topic}'",
    ]


def test_an_error_of_the_block_is_not_replaced(broker: Broker, topic: str) -> None:
    with pytest.raises(ZeroDivisionError), broker.expects(topic, 1):
        _ = 1 / 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "^the number of records is missing"),
        ({"count": 1, "at_least": 1}, "^count=1 and at_least=1 contradict each other: give one"),
        ({"count": -1}, "^count=-1 is not possible"),
        ({"at_least": "1"}, "^at_least='1' is not possible"),
        ({"count": 1, "timeout": None}, "^timeout=None is not possible: use a number of seconds$"),
        ({"count": 1, "isolation": "all"}, "^isolation='all' is not one of"),
    ],
)
def test_what_cannot_be_expected(broker: Broker, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        broker.expects("t", **arguments)


async def test_a_block_of_a_coroutine_lets_the_others_run(broker: Broker, topic: str) -> None:
    async def produce() -> None:
        await asyncio.sleep(0)
        broker.add(topic, "v")

    async with broker.expects(topic, 1, timeout=limit_s(30)) as got:
        task = asyncio.create_task(produce())
    await task
    assert [each.text for each in got] == ["v"]
    with pytest.raises(AssertionError, match="none came"):
        async with broker.expects(topic, 1, timeout=0.01):
            pass


def test_the_traceback_of_unittest_ends_at_the_with_statement(broker: Broker, topic: str) -> None:
    class Test(unittest.TestCase):
        def test(self) -> None:
            with broker.expects(topic, 1, timeout=0):
                pass

    result = unittest.TestResult()
    Test("test").run(result)
    ((_, text),) = result.failures
    assert text.count('File "') == 1
    assert "with broker.expects(topic, 1, timeout=0):" in text


def test_the_frames_of_kcompat_are_hidden_from_pytest(broker: Broker, topic: str) -> None:
    with pytest.raises(AssertionError) as raised, broker.expects(topic, 1, timeout=0):
        pass
    own, *others = [frame for frame, _ in traceback.walk_tb(raised.value.__traceback__)]
    assert own.f_code.co_name == "test_the_frames_of_kcompat_are_hidden_from_pytest"
    assert all({**frame.f_globals, **frame.f_locals}["__tracebackhide__"] for frame in others)


def test_a_cluster_whose_leader_is_lost_while_the_test_waits() -> None:
    config = {"default.replication.factor": 3, "min.insync.replicas": 1}
    with Cluster(3, config=config) as cluster:
        cluster.add("orders", "before")
        cluster.wait_until_in_sync(limit_s(30))
        with cluster.expects("orders", 1, timeout=limit_s(3)) as got:
            lost = cluster.leader_of("orders", 0)

            def lose_and_add() -> None:
                cluster.brokers[lost].stop()
                cluster.add("orders", "after")

            thread = later(lose_and_add)
        thread.join()
        assert [each.text for each in got] == ["after"]
