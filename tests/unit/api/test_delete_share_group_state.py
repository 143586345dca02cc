"""DeleteShareGroupState."""

from __future__ import annotations

import pytest

from kcompat.api import delete_share_group_state
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.delete_share_group_state import DeleteShareGroupStateRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying
from support.share_state_apis import ShareStateApi
from support.share_world import KEY, TOPIC

NONE = ErrorCode.NONE


@pytest.fixture
def api() -> ShareStateApi:
    return ShareStateApi(
        delete_share_group_state,
        DeleteShareGroupStateRequest,
        DeleteShareGroupStateRequest.DeleteStateData,
        DeleteShareGroupStateRequest.PartitionData,
    )


def test_share_partitions_are_forgotten(api: ShareStateApi) -> None:
    api.world.coordinator.initialize(KEY, 3, 5)
    rows = api.ask(0, 1)
    assert {index: row.error_code for index, row in rows.items()} == {0: NONE, 1: NONE}
    assert api.world.states() == {}
    assert api.ask(99)[99].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_without_a_group_nothing_is_asked(api: ShareStateApi) -> None:
    assert api.ask(0, group_id="") == {}


def test_a_topic_without_rows_makes_nothing_of_the_request(api: ShareStateApi) -> None:
    request = DeleteShareGroupStateRequest(
        "group",
        [
            DeleteShareGroupStateRequest.DeleteStateData(TOPIC, []),
            DeleteShareGroupStateRequest.DeleteStateData(
                b"\1" * 16, [DeleteShareGroupStateRequest.PartitionData(0)]
            ),
        ],
    )
    assert api.rows(request) == {}


def test_only_brokers_may_ask(api: ShareStateApi) -> None:
    api.admit(Denying((Operation.CLUSTER_ACTION, CLUSTER)))
    row = api.ask(0, group_id="")[0]
    assert row.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert row.error_message == ErrorCode.CLUSTER_AUTHORIZATION_FAILED.message
