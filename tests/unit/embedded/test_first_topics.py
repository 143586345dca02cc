from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kcompat import Broker, Cluster
from kcompat.config.broker import BrokerConfig
from kcompat.config.first_topics import FirstTopic
from kcompat.embedded.first_topics import read_topics
from kcompat.errors import ConfigError, KcompatError, UsageError


def test_topics_are_numbers_of_partitions_or_settings_or_names() -> None:
    settings = {"partitions": 2, "replication.factor": 1, "retention.ms": timedelta(hours=1)}
    topics: Any = {"orders": 3, "users": {**settings, "cleanup.policy": ["compact", "delete"]}, "other": {}}
    configs = {"retention.ms": "3600000", "cleanup.policy": "compact,delete"}
    assert read_topics(topics, BrokerConfig({}), 1) == [
        FirstTopic("orders", 3),
        FirstTopic("users", 2, 1, configs),
        FirstTopic("other"),
    ]
    assert read_topics(["orders", "users"], BrokerConfig({}), 1) == [
        FirstTopic("orders"),
        FirstTopic("users"),
    ]
    assert read_topics(None, BrokerConfig({}), 1) == []


@pytest.mark.parametrize(
    ("topics", "error", "message"),
    [
        ("orders", UsageError, "topics='orders' are no topics: use partitions by name, as in {'orders': 3}"),
        (3, UsageError, "topics=3 are no topics"),
        ([3], UsageError, "3 cannot be the name of a topic: use text"),
        ({b"orders": 3}, UsageError, "b'orders' cannot be the name of a topic: use text"),
        ({"orders": "3"}, UsageError, "'3' does not describe topic 'orders': use its number of partitions"),
        ({"orders": True}, UsageError, "True does not describe topic 'orders'"),
        ({"orders": None}, UsageError, "None does not describe topic 'orders'"),
        ({"orders": {3: 1}}, UsageError, "{3: 1} does not describe topic 'orders'"),
        ({"orders": 0}, UsageError, "partitions=0 of topic 'orders' cannot be: use a number, 1 or more"),
        ({"orders": {"partitions": 1.5}}, UsageError, "partitions=1.5 of topic 'orders' cannot be"),
        ({"a b": 1}, UsageError, "'a b' cannot be the name of a topic"),
        ({"orders": {"replication.factor": 4}}, UsageError, "replication.factor=4 of topic 'orders' is more"),
        ({"orders": {"cleanup.polcy": "compact"}}, ConfigError, "did you mean cleanup.policy?"),
        ({"orders": {"retention.ms": None}}, ConfigError, "retention.ms=None cannot be: use text, a number"),
        ({"orders": {"retention.ms": "a day"}}, ConfigError, "topic 'orders': Invalid value a day for"),
    ],
)
@pytest.mark.parametrize("kind", [Broker, Cluster])
def test_topics_that_cannot_be_are_refused(
    kind: Any, topics: Any, error: type[KcompatError], message: str
) -> None:
    with pytest.raises(error) as refused:
        kind(topics=topics)
    assert message in str(refused.value)
