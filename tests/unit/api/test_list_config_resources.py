"""The handler of ListConfigResources."""

from __future__ import annotations

import pytest

from kcompat.api import list_config_resources
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.list_config_resources import ListConfigResourcesRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying
from support.config_handlers import BROKER, CLIENT_METRICS, GROUP, LOGGER, TOPIC, ConfigFixture


@pytest.fixture
def fixture() -> ConfigFixture:
    return ConfigFixture()


@pytest.mark.parametrize(
    ("types", "rows"),
    [
        ([], [("1", LOGGER), ("2", LOGGER), ("1", BROKER), ("2", BROKER), ("t1", TOPIC), ("t2", TOPIC)]),
        ([TOPIC], [("t1", TOPIC), ("t2", TOPIC)]),
        ([BROKER, BROKER], [("1", BROKER), ("2", BROKER)]),
        ([CLIENT_METRICS, GROUP], []),
    ],
)
def test_resources_are_listed_by_type(
    fixture: ConfigFixture, types: list[int], rows: list[tuple[str, int]]
) -> None:
    request = ListConfigResourcesRequest(resource_types=types)
    response = list_config_resources.handle(fixture.context(1), request)
    assert [(row.resource_name, row.resource_type) for row in response.config_resources] == rows
    assert response.encode(1)


def test_groups_are_listed_while_they_set_something_themselves(fixture: ConfigFixture) -> None:
    fixture.store("groups", "b", {"consumer.session.timeout.ms": "50000"})
    fixture.store("groups", "a", {"consumer.session.timeout.ms": "50000"})
    fixture.store("groups", "none", {})
    request = ListConfigResourcesRequest(resource_types=[GROUP])
    response = list_config_resources.handle(fixture.context(1), request)
    assert [row.resource_name for row in response.config_resources] == ["a", "b"]


def test_a_type_that_is_none_is_not_supported(fixture: ConfigFixture) -> None:
    request = ListConfigResourcesRequest(resource_types=[TOPIC, 99])
    assert (
        list_config_resources.handle(fixture.context(1), request).error_code == ErrorCode.UNSUPPORTED_VERSION
    )


def test_the_first_version_knows_client_metrics_only(fixture: ConfigFixture) -> None:
    response = list_config_resources.handle(fixture.context(0), ListConfigResourcesRequest())
    assert response.config_resources == []
    assert response.encode(0)


@pytest.mark.parametrize("version", [0, 1])
def test_needs_to_describe_the_configs_of_the_cluster(fixture: ConfigFixture, version: int) -> None:
    fixture.services.server.authorizer = Denying((Operation.DESCRIBE_CONFIGS, CLUSTER))
    response = list_config_resources.handle(fixture.context(version), ListConfigResourcesRequest())
    assert (response.error_code, response.config_resources) == (31, [])
