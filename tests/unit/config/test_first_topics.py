from __future__ import annotations

import pytest

from kcompat.config.broker import BrokerConfig
from kcompat.config.first_topics import (
    FirstTopic,
    check_first_topics,
    first_topic,
    parse_first_topic,
    topics_of_variables,
)
from kcompat.errors import ConfigError, KcompatError, UsageError


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("orders", FirstTopic("orders")),
        ("orders:3", FirstTopic("orders", 3)),
        ("orders:3:2", FirstTopic("orders", 3, 2)),
        ("orders::2", FirstTopic("orders", None, 2)),
        ("orders:3:1:compact", FirstTopic("orders", 3, 1, {"cleanup.policy": "compact"})),
        (" orders : 3 , retention.ms = 5 ", FirstTopic("orders", 3, None, {"retention.ms": "5"})),
        ("orders,partitions=3,replication.factor=2", FirstTopic("orders", 3, 2)),
        (
            "orders:3,cleanup.policy=compact,delete,retention.ms=5",
            FirstTopic("orders", 3, None, {"cleanup.policy": "compact,delete", "retention.ms": "5"}),
        ),
    ],
)
def test_a_topic_is_named_with_its_partitions_and_keys(text: str, topic: FirstTopic) -> None:
    assert parse_first_topic(text) == topic


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", UsageError, "'' cannot be the name of a topic: the empty string is not allowed"),
        ("a/b", UsageError, "'a/b' cannot be the name of a topic: 'a/b' contains one or more characters"),
        ("__cluster_metadata", UsageError, "cannot be the name of a topic: it is the log of a KRaft"),
        ("orders:three", UsageError, "partitions=three of topic 'orders' cannot be: use a number, 1 or more"),
        ("orders:0", UsageError, "partitions=0 of topic 'orders' cannot be: use a number, 1 or more"),
        ("orders:-1", UsageError, "partitions=-1 of topic 'orders' cannot be: use a number, 1 or more"),
        ("orders:1:0", UsageError, "replication.factor=0 of topic 'orders' cannot be: use a number"),
        (
            "orders:1:1:compact:x",
            UsageError,
            "is not of the form NAME[:PARTITIONS[:REPLICAS]][,KEY=VALUE...]",
        ),
        ("orders,users", UsageError, "topic 'orders,users' is not of the form NAME[:PARTITIONS"),
        ("orders,retention.m=5", ConfigError, "is not a key of Kafka's topics: did you mean retention.ms?"),
        ("orders,log.retention.ms=5", ConfigError, "retention.ms of topic 'orders' is not a key"),
        ("orders,log.retention.hours=5", ConfigError, "did you mean retention.ms?"),
        ("orders,partition=5", ConfigError, "did you mean partitions?"),
        ("orders,replication_factor=5", ConfigError, "did you mean replication.factor?"),
        (
            "orders,colour=red",
            ConfigError,
            "colour of topic 'orders' is not a key of Kafka's topics: `kcompat",
        ),
    ],
)
def test_a_text_that_is_no_topic_is_explained(text: str, error: type[KcompatError], message: str) -> None:
    with pytest.raises(error) as refused:
        parse_first_topic(text)
    assert message in str(refused.value)


def check(*topics: FirstTopic, brokers: int = 1, **config: str) -> None:
    check_first_topics(
        topics, BrokerConfig({key.replace("_", "."): text for key, text in config.items()}), brokers
    )


def test_values_are_checked_with_those_of_the_broker() -> None:
    check(first_topic("orders", {"cleanup.policy": "compact"}))
    with pytest.raises(
        ConfigError, match=r"^topic 'orders': Invalid value never for configuration cleanup\.po"
    ):
        check(first_topic("orders", {"cleanup.policy": "never"}))


def test_a_topic_is_named_once() -> None:
    with pytest.raises(UsageError, match="topic 'orders' is named twice: give all of its settings at once"):
        check(FirstTopic("orders"), FirstTopic("users"), FirstTopic("orders", 3))


def test_replicas_need_brokers() -> None:
    check(FirstTopic("orders", 1, 3), brokers=3)
    with pytest.raises(
        UsageError, match=r"=2 of topic 'orders' is more than the 1 broker: use 1, or start --bro"
    ):
        check(FirstTopic("orders", 1, 2))
    check(FirstTopic("orders", 1, 2), zookeeper_connect="a:1")  # others may be there


def test_an_image_has_topics_from_its_variables() -> None:
    assert topics_of_variables({}) == []
    ours = "orders:3\n  users:1,cleanup.policy=compact"
    assert topics_of_variables({"KCOMPAT_TOPICS": ours, "KAFKA_CREATE_TOPICS": "a:2:1, b:1:1:compact,"}) == [
        FirstTopic("orders", 3),
        FirstTopic("users", 1, None, {"cleanup.policy": "compact"}),
        FirstTopic("a", 2, 1),
        FirstTopic("b", 1, 1, {"cleanup.policy": "compact"}),
    ]
