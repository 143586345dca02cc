"""Topics that a program creates and deletes on a running embedded broker or cluster."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from kcompat import Broker, Cluster
from kcompat.errors import ConfigError, RequestError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(config={"num.partitions": 3}) as started:
        yield started


def test_topics_are_created_and_deleted(broker: Broker) -> None:
    made = broker.create_topic("orders", 2, config={"retention.ms": timedelta(hours=1)})
    assert (len(made.partitions), made.overrides) == (2, {"retention.ms": "3600000"})
    assert made == broker.topics()["orders"]
    broker.add("orders", "text")
    broker.delete_topic("orders")
    assert "orders" not in broker.topics()
    assert [each.end_offset for each in broker.create_topic("orders").partitions] == [0, 0, 0]


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda broker: broker.create_topic("a b"), UsageError, "'a b' cannot be the name of a topic"),
        (lambda broker: broker.create_topic(5), UsageError, "5 cannot be the name of a topic: use text"),
        (lambda broker: broker.create_topic("t", 0), UsageError, "use a number, 1 or more"),
        (lambda broker: broker.create_topic("t", config="x"), UsageError, "config='x' is no mapping"),
        (
            lambda broker: broker.create_topic("t", config={"partitions": 3}),
            UsageError,
            "give it as the argument of its own",
        ),
        (
            lambda broker: broker.create_topic("t", config={"cleanup.polcy": "compact"}),
            ConfigError,
            "did you mean cleanup.policy?",
        ),
        (
            lambda broker: broker.create_topic("t", config={"cleanup.policy": "x"}),
            RequestError,
            "INVALID_CONFIG",
        ),
        (
            lambda broker: broker.create_topic("t", replication_factor=3),
            RequestError,
            "INVALID_REPLICATION_FACTOR",
        ),
        (
            lambda broker: [broker.create_topic("twice") for _ in range(2)],
            RequestError,
            "TOPIC_ALREADY_EXISTS",
        ),
        (lambda broker: broker.delete_topic("t"), UsageError, "there is no topic 't'"),
    ],
)
def test_topics_that_cannot_be_created_or_deleted(
    broker: Broker, act: Callable[[Broker], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as raised:
        act(broker)
    assert message in str(raised.value)


def test_a_cluster_creates_and_deletes_topics_whichever_broker_is_the_controller() -> None:
    with Cluster(2) as cluster:
        for name in ("first", "second"):
            made = cluster.create_topic(name, 4, replication_factor=2)
            assert {each.leader for each in made.partitions} == {0, 1}
            cluster.delete_topic(name)
            assert cluster.topics() == {}
            controller = cluster.nodes.by_trust()[0].parts.cluster.broker_id
            if name == "first":
                cluster.brokers[controller].stop()
                cluster.brokers[controller].start()
