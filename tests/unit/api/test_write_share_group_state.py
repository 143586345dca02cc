"""WriteShareGroupState."""

from __future__ import annotations

import pytest

from kcompat.api import write_share_group_state
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.write_share_group_state import WriteShareGroupStateRequest
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
        write_share_group_state,
        WriteShareGroupStateRequest,
        WriteShareGroupStateRequest.WriteStateData,
        WriteShareGroupStateRequest.PartitionData,
    )


@pytest.mark.parametrize("version", [0, 1])
def test_what_was_delivered_is_stored(api: ShareStateApi, version: int) -> None:
    api.world.coordinator.initialize(KEY, 3, 0)
    batch = WriteShareGroupStateRequest.StateBatch(0, 4, 2, 1)
    fields = {"state_epoch": 3, "leader_epoch": 1, "start_offset": 0, "delivery_complete_count": 5}
    if version == 0:
        del fields["delivery_complete_count"]
    rows = api.ask(0, 1, version=version, state_batches=[batch], **fields)
    assert (rows[0].error_code, rows[1].error_code) == (NONE, ErrorCode.INVALID_REQUEST)
    state = api.world.states()[KEY]
    assert state.batches == (StateBatch(0, 4, 2, 1),)
    assert state.delivery_complete_count == (5 if version else -1)
    assert api.ask(0, state_epoch=2)[0].error_code == ErrorCode.FENCED_STATE_EPOCH


def test_the_answer_waits_for_the_commit(api: ShareStateApi) -> None:
    api.world.coordinator.initialize(KEY, 0, 0)
    api.world.log.hold()
    waiting = api.ask(0)
    assert not waiting.done
    api.world.log.release()
    assert waiting.value.results[0].partitions[0].error_code == NONE


def test_without_a_group_nothing_is_asked(api: ShareStateApi) -> None:
    assert api.ask(0, group_id="") == {}


def test_a_topic_without_rows_makes_nothing_of_the_request(api: ShareStateApi) -> None:
    request = WriteShareGroupStateRequest(
        "group",
        [
            WriteShareGroupStateRequest.WriteStateData(TOPIC, []),
            WriteShareGroupStateRequest.WriteStateData(
                b"\1" * 16, [WriteShareGroupStateRequest.PartitionData(0)]
            ),
        ],
    )
    assert api.rows(request) == {}


def test_only_brokers_may_ask(api: ShareStateApi) -> None:
    api.admit(Denying((Operation.CLUSTER_ACTION, CLUSTER)))
    row = api.ask(0, group_id="")[0]
    assert row.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert row.error_message == ErrorCode.CLUSTER_AUTHORIZATION_FAILED.message
