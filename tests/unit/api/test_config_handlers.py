"""The handlers of configurations, beside a controller that stores what it is told."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from kcompat.api import alter_configs, describe_configs, incremental_alter_configs, list_config_resources
from kcompat.cluster.feed import MetadataCache
from kcompat.cluster.image import BrokerInfo, TopicImage
from kcompat.config.broker import BrokerConfig
from kcompat.config.feed import ConfigFeed
from kcompat.controller.config_changes import SetConfigs
from kcompat.controller.decisions import Decisions
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_configs import AlterConfigsRequest
from kcompat.protocol.messages.describe_configs import DescribeConfigsRequest
from kcompat.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kcompat.protocol.messages.list_config_resources import ListConfigResourcesRequest
from support.asking import context_of, services_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.api.context import RequestContext

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


class Controller:
    """Stores at once, or answers when the test says so."""

    def __init__(self, cluster: MetadataCache) -> None:
        self._cluster = cluster
        self.error = ErrorCode.NONE
        self.held: list[Promise[ErrorCode]] | None = None

    def submit(self, event: Any) -> Promise[Any]:
        assert isinstance(event, SetConfigs)
        promise: Promise[ErrorCode] = Promise()
        if self.held is not None:
            self.held.append(promise)
            return promise
        if self.error is ErrorCode.NONE:
            changed = {(event.kind, event.name): event.configs}
            self._cluster.update(self._cluster.image.with_configs(changed))
        promise.complete(self.error)
        return promise


class World:
    """A broker with id 1 as the handlers see it."""

    def __init__(self) -> None:
        self.cluster = MetadataCache("cluster")
        topics = [TopicImage(name, bytes(16), ()) for name in ("t1", "t2")]
        brokers = {number: BrokerInfo(number, None, {}) for number in (1, 2)}
        self.cluster.update(replace(self.cluster.image.with_topics(topics), brokers=brokers))
        self.controller = Controller(self.cluster)
        config = BrokerConfig({"broker.id": "1", "foo.bar": "x"})
        self.services = services_of(
            broker_id=1,
            config=config,
            cluster=self.cluster,
            decisions=Decisions(self.controller.submit, 1, ConfigFeed(config), Random(1)),
        )

    @property
    def stored(self) -> Mapping[tuple[str, str], Mapping[str, str]]:
        """The configs of (kind, name)."""
        return self.cluster.image.entity_configs

    def store(self, kind: str, name: str, configs: Mapping[str, str]) -> None:
        """As if another client had stored them."""
        self.cluster.update(self.cluster.image.with_configs({(kind, name): configs}))

    def context(self, version: int) -> RequestContext:
        return context_of(self.services, version)

    def describe(
        self, *resources: tuple[int, str, list[str] | None], version: int = 4, **flags: bool
    ) -> list[Any]:
        asked = [DescribeConfigsRequest.DescribeConfigsResource(*resource) for resource in resources]
        request = DescribeConfigsRequest(resources=asked, **flags)
        response = describe_configs.handle(self.context(version), request)
        # What is answered can be encoded in the version it is answered in.
        assert response.encode(version)
        return response.results

    def increment(
        self, *resources: tuple[int, str, list[tuple[str, int, str | None]]], **flags: bool
    ) -> list[Any]:
        request = IncrementalAlterConfigsRequest(
            resources=[
                IncrementalAlterConfigsRequest.AlterConfigsResource(
                    kind,
                    name,
                    [IncrementalAlterConfigsRequest.AlterableConfig(*element) for element in elements],
                )
                for kind, name, elements in resources
            ],
            **flags,
        )
        response = incremental_alter_configs.handle(self.context(1), request).value
        assert response.encode(1)
        return [
            (answer.error_code, answer.error_message, answer.resource_type, answer.resource_name)
            for answer in response.responses
        ]

    def replace(self, *resources: tuple[int, str, dict[str, str | None]], **flags: bool) -> list[Any]:
        request = AlterConfigsRequest(
            resources=[
                AlterConfigsRequest.AlterConfigsResource(
                    kind,
                    name,
                    [AlterConfigsRequest.AlterableConfig(*element) for element in elements.items()],
                )
                for kind, name, elements in resources
            ],
            **flags,
        )
        response = alter_configs.handle(self.context(2), request).value
        assert response.encode(2)
        return [
            (answer.error_code, answer.error_message, answer.resource_type, answer.resource_name)
            for answer in response.responses
        ]


@pytest.fixture
def world() -> World:
    return World()


def test_what_is_set_is_described(world: World) -> None:
    assert world.increment((TOPIC, "t1", [("retention.ms", SET, "5")])) == [(0, None, TOPIC, "t1")]
    assert world.increment((BROKER, "", [("message.max.bytes", SET, "77")])) == [(0, None, BROKER, "")]
    assert world.increment((BROKER, "1", [("log.segment.bytes", SET, "99")])) == [(0, None, BROKER, "1")]
    assert world.stored == {
        ("topics", "t1"): {"retention.ms": "5"},
        ("brokers", "<default>"): {"message.max.bytes": "77"},
        ("brokers", "1"): {"log.segment.bytes": "99"},
    }
    (result,) = world.describe(
        (TOPIC, "t1", ["retention.ms", "max.message.bytes", "segment.bytes", "nonsense"])
    )
    assert [(row.name, row.value, row.config_source, row.config_type) for row in result.configs] == [
        ("max.message.bytes", "77", 3, 3),
        ("retention.ms", "5", 1, 5),
        ("segment.bytes", "99", 2, 3),
    ]


def test_synonyms_and_documentation_come_when_asked_for(world: World) -> None:
    (silent,) = world.describe((TOPIC, "t1", ["segment.bytes"]))
    assert (silent.configs[0].synonyms, silent.configs[0].documentation) == ([], None)
    (full,) = world.describe(
        (TOPIC, "t1", ["segment.bytes"]), include_synonyms=True, include_documentation=True
    )
    synonym = full.configs[0].synonyms[0]
    assert (synonym.name, synonym.value, synonym.source) == ("log.segment.bytes", "1073741824", 5)
    assert full.configs[0].documentation == "Largest size of a segment file."


@pytest.mark.parametrize("version", range(5))
def test_every_version_is_answered(world: World, version: int) -> None:
    world.replace((TOPIC, "t1", {"retention.ms": "5"}))
    topic, broker = world.describe((TOPIC, "t1", None), (BROKER, "1", []), version=version)
    assert len(topic.configs) == 36
    assert len(broker.configs) == 316
    defaults = {row.name for row in topic.configs if row.is_default}
    assert len(defaults) == (35 if version == 0 else 0)
    assert "retention.ms" not in defaults


@pytest.mark.parametrize(
    ("kind", "name", "error", "message"),
    [
        (TOPIC, "nope", 3, ""),
        (TOPIC, "", 17, "Topic name is invalid: the empty string is not allowed"),
        (BROKER, "2", 42, "Unexpected broker id, expected 1 or empty string, but received 2"),
        (BROKER, "x", 42, "Broker id must be an integer, but it is: x"),
        (LOGGER, "", 42, "Broker id must not be empty"),
        (LOGGER, "2", 42, "Unexpected broker id, expected 1 but received 2"),
        (LOGGER, "x", 42, "Broker id must be an integer, but it is: x"),
        (CLIENT_METRICS, "", 42, "Client metrics subscription name must not be empty"),
        (CLIENT_METRICS, "s", 0, ""),
        (GROUP, "g", 42, ErrorCode.INVALID_REQUEST.message),
        (0, "x", 42, ErrorCode.INVALID_REQUEST.message),
        (BROKER, "", 0, ""),
    ],
)
def test_resources_that_have_nothing_to_show(
    world: World, kind: int, name: str, error: int, message: str
) -> None:
    (result,) = world.describe((kind, name, None))
    assert (result.error_code, result.error_message, result.configs) == (error, message, [])
    assert (result.resource_type, result.resource_name) == (kind, name)


def test_loggers_are_described_and_changed(world: World) -> None:
    assert world.increment((LOGGER, "1", [("root", SET, "ERROR")])) == [(0, None, LOGGER, "1")]
    (result,) = world.describe((LOGGER, "1", ["root"]))
    row = result.configs[0]
    assert (row.name, row.value, row.config_source, row.documentation) == ("root", "ERROR", 6, "")
    world.increment((LOGGER, "1", [("root", SET, "WARN")]))
    assert world.stored == {}


def test_a_resource_may_repeat_but_not_without_end(world: World) -> None:
    results = world.describe(*[(TOPIC, "t1", ["retention.ms"])] * 1000)
    assert [result.error_code for result in results[:101]] == [0] * 101
    assert {result.error_code for result in results[101:]} == {42}


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
        (BROKER, "7", [("log.retention.ms", SET, None)], 42,
         "Null value not supported for : log.retention.ms"),
        (LOGGER, "2", [("root", SET, "INFO")], 42, "Unexpected node id. Expected 1, but received 2"),
        (LOGGER, "", [("root", SET, "INFO")], 42, "Node id must be an integer, but it is: "),
        (CLIENT_METRICS, "g", [("metrics", SET, "*")], 42,
         "AlterConfigs is only supported for topics and brokers, but resource type is CLIENT_METRICS"),
        (GROUP, "g", [], 42, "Unknown resource type 32"),
        (0, "g", [], 42, "Unknown resource type 0"),
    ],
)  # fmt: skip
def test_resources_that_cannot_be_changed(
    world: World, kind: int, name: str, elements: list[tuple[str, int, str | None]], error: int, message: str
) -> None:
    assert world.increment((kind, name, elements)) == [(error, message, kind, name)]
    assert world.stored == {}


def test_each_resource_succeeds_or_fails_for_itself(world: World) -> None:
    answers = world.increment(
        (TOPIC, "t1", [("retention.ms", SET, "7")]),
        (TOPIC, "t2", [("retention.ms", SET, "abc")]),
        (BROKER, "1", [("foo", SET, "x")]),
        (BROKER, "1", [("bar", SET, "x")]),
    )
    assert [answer[0] for answer in answers] == [0, 40, 42, 42]
    assert answers[2][1] == "Each resource must appear at most once."
    assert world.stored == {("topics", "t1"): {"retention.ms": "7"}}


def test_replacing_forgets_what_the_request_does_not_name(world: World) -> None:
    world.replace((TOPIC, "t1", {"retention.ms": "5", "segment.bytes": "20"}), (BROKER, "1", {"foo": "1"}))
    assert world.replace((TOPIC, "t1", {"segment.bytes": "30"}), (BROKER, "1", {})) == [
        (0, None, TOPIC, "t1"),
        (0, None, BROKER, "1"),
    ]
    assert world.stored == {("topics", "t1"): {"segment.bytes": "30"}, ("brokers", "1"): {}}
    assert world.replace((LOGGER, "1", {"root": "INFO"})) == [(42, "Unknown resource type 8", LOGGER, "1")]


def test_stored_values_that_do_not_fit_any_more_can_be_seen_past_and_deleted(world: World) -> None:
    world.store("brokers", "1", {"log.roll.ms": "0", "log.retention.ms": "5"})
    (result,) = world.describe((BROKER, "1", ["num.partitions"]))
    assert result.configs[0].value == "1"
    assert world.increment((BROKER, "1", [("log.roll.ms", DELETE, None)])) == [(0, None, BROKER, "1")]
    assert world.stored["brokers", "1"] == {"log.retention.ms": "5"}


def test_validation_alone_stores_nothing(world: World) -> None:
    assert world.increment((TOPIC, "t1", [("retention.ms", SET, "7")]), validate_only=True)[0][0] == 0
    assert world.replace((TOPIC, "t1", {"retention.ms": "z"}), validate_only=True)[0][0] == 40
    assert world.stored == {}


def test_the_answer_waits_for_every_store_and_tells_what_failed(world: World) -> None:
    world.controller.held = []
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    request = IncrementalAlterConfigsRequest(resources=[resource(TOPIC, "t1"), resource(TOPIC, "t2")])
    answer = incremental_alter_configs.handle(world.context(1), request)
    first, second = world.controller.held
    second.complete(ErrorCode.NOT_CONTROLLER)
    assert not answer.done
    first.complete(ErrorCode.NONE)
    assert [row.error_code for row in answer.value.responses] == [0, ErrorCode.NOT_CONTROLLER]
    assert answer.value.responses[1].error_message == ErrorCode.NOT_CONTROLLER.message


def test_a_change_from_another_connection_in_between_is_kept(world: World) -> None:
    world.controller.held = []
    element = IncrementalAlterConfigsRequest.AlterableConfig("retention.ms", SET, "7")
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(TOPIC, "t1", [element])
    answer = incremental_alter_configs.handle(
        world.context(1), IncrementalAlterConfigsRequest(resources=[resource])
    )
    (first,) = world.controller.held
    world.controller.held = None
    world.store("topics", "t1", {"segment.bytes": "30"})
    first.complete(ErrorCode.INVALID_UPDATE_VERSION)
    assert answer.value.responses[0].error_code == 0
    assert world.stored["topics", "t1"] == {"segment.bytes": "30", "retention.ms": "7"}


@pytest.mark.parametrize(
    ("types", "rows"),
    [
        ([], [("1", LOGGER), ("2", LOGGER), ("1", BROKER), ("2", BROKER), ("t1", TOPIC), ("t2", TOPIC)]),
        ([TOPIC], [("t1", TOPIC), ("t2", TOPIC)]),
        ([BROKER, BROKER], [("1", BROKER), ("2", BROKER)]),
        ([CLIENT_METRICS, GROUP], []),
    ],
)
def test_resources_are_listed_by_type(world: World, types: list[int], rows: list[tuple[str, int]]) -> None:
    request = ListConfigResourcesRequest(resource_types=types)
    response = list_config_resources.handle(world.context(1), request)
    assert [(row.resource_name, row.resource_type) for row in response.config_resources] == rows
    assert response.encode(1)


def test_a_type_that_is_none_is_not_supported(world: World) -> None:
    request = ListConfigResourcesRequest(resource_types=[TOPIC, 99])
    assert list_config_resources.handle(world.context(1), request).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_the_first_version_knows_client_metrics_only(world: World) -> None:
    response = list_config_resources.handle(world.context(0), ListConfigResourcesRequest())
    assert response.config_resources == []
    assert response.encode(0)
