"""The handler of IncrementalAlterConfigs."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import pytest

from kcompat.api import incremental_alter_configs
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kcompat.security.authorizer import CLUSTER, Resource
from kcompat.security.operations import Operation
from support.asking import Denying
from support.config_handlers import (
    APPEND,
    BROKER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    LOGGER,
    SET,
    TOPIC,
    ConfigFixture,
)

if TYPE_CHECKING:
    Element: TypeAlias = tuple[str, int, str | None]


@pytest.fixture
def fixture() -> ConfigFixture:
    return ConfigFixture()


def test_loggers_are_described_and_changed(fixture: ConfigFixture) -> None:
    assert fixture.increment((LOGGER, "1", [("root", SET, "ERROR")])) == [(0, None, LOGGER, "1")]
    (result,) = fixture.describe((LOGGER, "1", ["root"]))
    row = result.configs[0]
    assert (row.name, row.value, row.config_source, row.documentation) == ("root", "ERROR", 6, "")
    fixture.increment((LOGGER, "1", [("root", SET, "WARN")]))
    assert fixture.stored == {}


@pytest.mark.parametrize(
    ("kind", "name", "elements", "error", "message"),
    [
        (TOPIC, "nope", [("retention.ms", SET, "1")], 3, "The topic 'nope' does not exist."),
        (TOPIC, "nope", [("retention.ms", SET, "z")], 40,
         "Invalid value z for configuration retention.ms: Not a number of type LONG"),
        (TOPIC, "", [("retention.ms", SET, "1")], 42, "Default topic resources are not allowed."),
        (BROKER, "2", [("log.cleaner.threads", SET, "1")], 42,
         "Unexpected broker id, expected 1, but received 2"),
        (BROKER, "x", [("log.cleaner.threads", SET, "1")], 42, "Node id must be an integer, but it is: x"),
        (BROKER, "1 ", [("log.cleaner.threads", SET, "1")], 42, "Node id must be an integer, but it is: 1 "),
        (BROKER, "7", [("log.retention.ms", SET, None)], 42,
         "Null value not supported for : log.retention.ms"),
        (LOGGER, "2", [("root", SET, "INFO")], 42, "Unexpected node id. Expected 1, but received 2"),
        (LOGGER, "", [("root", SET, "INFO")], 42, "Node id must be an integer, but it is: "),
        (CLIENT_METRICS, "g", [("metrics", SET, "*")], 42,
         "AlterConfigs is only supported for topics and brokers, but resource type is CLIENT_METRICS"),
        (GROUP, "", [("consumer.session.timeout.ms", SET, "50000")], 42,
         "Default group resources are not allowed."),
        (GROUP, "g", [("retention.ms", SET, "1")], 40, "Unknown group config name: retention.ms"),
        (GROUP, "g", [("consumer.session.timeout.ms", APPEND, "1")], 40,
         "Can't APPEND to key consumer.session.timeout.ms because its type is not LIST."),
        (GROUP, "g", [("consumer.session.timeout.ms", SET, "0")], 40,
         "Invalid value 0 for configuration consumer.session.timeout.ms: Value must be at least 1"),
        (GROUP, "g", [("consumer.session.timeout.ms", SET, "100")], 40,
         "consumer.session.timeout.ms must be greater than or equal to "
         "group.consumer.min.session.timeout.ms"),
        (GROUP, "g", [("consumer.heartbeat.interval.ms", SET, "16000")], 40,
         "consumer.heartbeat.interval.ms must be less than or equal to "
         "group.consumer.max.heartbeat.interval.ms"),
        (0, "g", [], 42, "Unknown resource type 0"),
    ],
)  # fmt: skip
def test_resources_that_cannot_be_changed(
    fixture: ConfigFixture,
    kind: int,
    name: str,
    elements: list[tuple[str, int, str | None]],
    error: int,
    message: str,
) -> None:
    assert fixture.increment((kind, name, elements)) == [(error, message, kind, name)]
    assert fixture.stored == {}


def test_each_resource_succeeds_or_fails_for_itself(fixture: ConfigFixture) -> None:
    answers = fixture.increment(
        (TOPIC, "t1", [("retention.ms", SET, "7")]),
        (TOPIC, "t2", [("retention.ms", SET, "abc")]),
        (BROKER, "1", [("foo", SET, "x")]),
        (BROKER, "1", [("bar", SET, "x")]),
    )
    assert [answer[0] for answer in answers] == [0, 40, 42, 42]
    assert answers[2][1] == "Each resource must appear at most once."
    assert fixture.stored == {("topics", "t1"): {"retention.ms": "7"}}


def test_stored_values_that_do_not_fit_any_more_can_be_seen_past_and_deleted(fixture: ConfigFixture) -> None:
    fixture.store("brokers", "1", {"log.roll.ms": "0", "log.retention.ms": "5"})
    (result,) = fixture.describe((BROKER, "1", ["num.partitions"]))
    assert result.configs[0].value == "1"
    assert fixture.increment((BROKER, "1", [("log.roll.ms", DELETE, None)])) == [(0, None, BROKER, "1")]
    assert fixture.stored["brokers", "1"] == {"log.retention.ms": "5"}


def test_validation_alone_stores_nothing(fixture: ConfigFixture) -> None:
    assert fixture.increment((TOPIC, "t1", [("retention.ms", SET, "7")]), validate_only=True)[0][0] == 0
    assert fixture.replace((TOPIC, "t1", {"retention.ms": "z"}), validate_only=True)[0][0] == 40
    assert fixture.stored == {}


def test_the_answer_waits_for_every_store_and_tells_what_failed(fixture: ConfigFixture) -> None:
    fixture.configs.held = []
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    request = IncrementalAlterConfigsRequest(resources=[resource(TOPIC, "t1"), resource(TOPIC, "t2")])
    answer = incremental_alter_configs.handle(fixture.context(1), request)
    first, second = fixture.configs.held
    second.complete(ErrorCode.NOT_CONTROLLER)
    assert not answer.done
    first.complete(ErrorCode.NONE)
    assert [row.error_code for row in answer.value.responses] == [0, ErrorCode.NOT_CONTROLLER]
    assert answer.value.responses[1].error_message == ErrorCode.NOT_CONTROLLER.message


def test_a_change_from_another_connection_in_between_is_kept(fixture: ConfigFixture) -> None:
    fixture.configs.held = []
    element = IncrementalAlterConfigsRequest.AlterableConfig("retention.ms", SET, "7")
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(TOPIC, "t1", [element])
    answer = incremental_alter_configs.handle(
        fixture.context(1), IncrementalAlterConfigsRequest(resources=[resource])
    )
    (first,) = fixture.configs.held
    fixture.configs.held = None
    fixture.store("topics", "t1", {"segment.bytes": "30"})
    first.complete(ErrorCode.INVALID_UPDATE_VERSION)
    assert answer.value.responses[0].error_code == 0
    assert fixture.stored["topics", "t1"] == {"segment.bytes": "30", "retention.ms": "7"}


def test_needs_to_alter_the_configs_of_the_topic_or_the_cluster(fixture: ConfigFixture) -> None:
    fixture.services.server.authorizer = Denying(
        *((Operation.ALTER_CONFIGS, resource) for resource in (CLUSTER, Resource.topic("t1")))
    )
    asked: list[tuple[int, str, list[Element]]] = [
        (TOPIC, "t1", [("bad", SET, "1")]),
        (BROKER, "1", []),
        (LOGGER, "1", []),
        (CLIENT_METRICS, "m", []),
    ]
    assert [row[:2] for row in fixture.increment(*asked)] == [
        (29, ErrorCode.TOPIC_AUTHORIZATION_FAILED.message),
        (31, ErrorCode.CLUSTER_AUTHORIZATION_FAILED.message),
        (31, None),
        (31, ErrorCode.CLUSTER_AUTHORIZATION_FAILED.message),
    ]


def test_a_group_has_settings_before_it_exists_and_loses_them_one_by_one(fixture: ConfigFixture) -> None:
    elements: list[Element] = [
        ("consumer.session.timeout.ms", SET, "50000"),
        ("consumer.heartbeat.interval.ms", SET, "6000"),
    ]
    assert fixture.increment((GROUP, "g", elements)) == [(0, None, GROUP, "g")]
    assert fixture.stored == {
        ("groups", "g"): {"consumer.session.timeout.ms": "50000", "consumer.heartbeat.interval.ms": "6000"}
    }
    fixture.increment((GROUP, "g", [("consumer.session.timeout.ms", DELETE, None)]))
    assert fixture.stored == {("groups", "g"): {"consumer.heartbeat.interval.ms": "6000"}}


def test_needs_to_alter_the_configs_of_the_group(fixture: ConfigFixture) -> None:
    fixture.services.server.authorizer = Denying((Operation.ALTER_CONFIGS, Resource.group("g")))
    elements: list[Element] = [("consumer.heartbeat.interval.ms", SET, "6000")]
    assert fixture.increment((GROUP, "g", elements)) == [
        (30, ErrorCode.GROUP_AUTHORIZATION_FAILED.message, GROUP, "g")
    ]
    assert fixture.stored == {}
