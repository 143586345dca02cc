"""ReadShareGroupState."""

from __future__ import annotations

import pytest

from kcompat.api import read_share_group_state
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.read_share_group_state import ReadShareGroupStateRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from kcompat.share.batches import StateBatch
from support.asking import Denying
from support.share_state_apis import ShareStateApi
from support.share_world import KEY, TOPIC

NONE = ErrorCode.NONE


@pytest.fixture
def api() -> ShareStateApi:
    return ShareStateApi(
        read_share_group_state,
        ReadShareGroupStateRequest,
        ReadShareGroupStateRequest.ReadStateData,
        ReadShareGroupStateRequest.PartitionData,
    )


def test_what_is_stored_is_read(api: ShareStateApi) -> None:
    api.world.coordinator.initialize(KEY, 3, 5)
    api.world.write(StateBatch(5, 9, 2, 1), state_epoch=3, start_offset=5)
    rows = api.ask(0, 1, leader_epoch=4)
    row = rows[0]
    assert (row.error_code, row.state_epoch, row.start_offset) == (NONE, 3, 5)
    (batch,) = row.state_batches
    assert (batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count) == (5, 9, 2, 1)
    assert rows[1].error_code == ErrorCode.INVALID_REQUEST
    assert api.ask(0, leader_epoch=3)[0].error_code == ErrorCode.FENCED_LEADER_EPOCH


def test_without_a_group_nothing_is_asked(api: ShareStateApi) -> None:
    assert api.ask(0, group_id="") == {}


def test_a_topic_without_rows_makes_nothing_of_the_request(api: ShareStateApi) -> None:
    request = ReadShareGroupStateRequest(
        "group",
        [
            ReadShareGroupStateRequest.ReadStateData(TOPIC, []),
            ReadShareGroupStateRequest.ReadStateData(
                b"\1" * 16, [ReadShareGroupStateRequest.PartitionData(0)]
            ),
        ],
    )
    assert api.rows(request) == {}


def test_only_brokers_may_ask(api: ShareStateApi) -> None:
    api.admit(Denying((Operation.CLUSTER_ACTION, CLUSTER)))
    row = api.ask(0, group_id="")[0]
    assert row.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert row.error_message == ErrorCode.CLUSTER_AUTHORIZATION_FAILED.message
