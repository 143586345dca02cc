"""The handler of AlterConfigs."""

from __future__ import annotations

import pytest

from kcompat.security.authorizer import CLUSTER, Resource
from kcompat.security.operations import Operation
from support.asking import Denying
from support.config_handlers import BROKER, LOGGER, TOPIC, ConfigFixture


@pytest.fixture
def fixture() -> ConfigFixture:
    return ConfigFixture()


def test_replacing_forgets_what_the_request_does_not_name(fixture: ConfigFixture) -> None:
    fixture.replace((TOPIC, "t1", {"retention.ms": "5", "segment.bytes": "20"}), (BROKER, "1", {"foo": "1"}))
    assert fixture.replace((TOPIC, "t1", {"segment.bytes": "30"}), (BROKER, "1", {})) == [
        (0, None, TOPIC, "t1"),
        (0, None, BROKER, "1"),
    ]
    assert fixture.stored == {("topics", "t1"): {"segment.bytes": "30"}, ("brokers", "1"): {}}
    assert fixture.replace((LOGGER, "1", {"root": "INFO"})) == [(42, "Unknown resource type 8", LOGGER, "1")]


def test_needs_to_alter_the_configs_of_the_topic_or_the_cluster(fixture: ConfigFixture) -> None:
    fixture.services.server.authorizer = Denying(
        *((Operation.ALTER_CONFIGS, resource) for resource in (CLUSTER, Resource.topic("t1")))
    )
    answers = fixture.replace((TOPIC, "t1", {}), (TOPIC, "t2", {}), (BROKER, "1", {}), (LOGGER, "1", {}))
    assert [row[0] for row in answers] == [29, 0, 31, 42]
    assert fixture.stored == {("topics", "t2"): {}}
