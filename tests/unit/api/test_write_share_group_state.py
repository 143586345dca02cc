"""The handler of WriteShareGroupState."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.api import write_share_group_state
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.write_share_group_state import WriteShareGroupStateRequest
from kcompat.share.batches import StateBatch
from support.share_coordinators import KEY
from support.share_state_apis import ShareStateApi
from support.share_state_conformance import EmptyTopicConformance

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
    api.fixture.coordinator.initialize(KEY, 3, 0)
    batch = WriteShareGroupStateRequest.StateBatch(0, 4, 2, 1)
    fields: dict[str, Any] = {
        "state_epoch": 3,
        "leader_epoch": 1,
        "start_offset": 0,
        "delivery_complete_count": 5,
    }
    if version == 0:
        del fields["delivery_complete_count"]
    rows = api.ask(0, 1, version=version, state_batches=[batch], **fields)
    assert (rows[0].error_code, rows[1].error_code) == (NONE, ErrorCode.INVALID_REQUEST)
    state = api.fixture.states()[KEY]
    assert state.batches == (StateBatch(0, 4, 2, 1),)
    assert state.delivery_complete_count == (5 if version else -1)
    assert api.ask(0, state_epoch=2)[0].error_code == ErrorCode.FENCED_STATE_EPOCH


def test_the_answer_waits_for_the_commit(api: ShareStateApi) -> None:
    api.fixture.coordinator.initialize(KEY, 0, 0)
    api.fixture.log.hold()
    waiting = api.ask(0)
    assert not waiting.done
    api.fixture.log.release()
    assert waiting.value.results[0].partitions[0].error_code == NONE


class TestAsOfAllItsKind(EmptyTopicConformance):
    """The behaviour that all APIs of the share coordinator have in common."""
