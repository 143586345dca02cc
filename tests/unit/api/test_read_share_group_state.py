"""The handler of ReadShareGroupState."""

from __future__ import annotations

import pytest

from kcompat.api import read_share_group_state
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.read_share_group_state import ReadShareGroupStateRequest
from kcompat.share.batches import StateBatch
from support.share_coordinators import KEY
from support.share_state_apis import ShareStateApi
from support.share_state_conformance import EmptyTopicConformance

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
    api.fixture.coordinator.initialize(KEY, 3, 5)
    api.fixture.write(StateBatch(5, 9, 2, 1), state_epoch=3, start_offset=5)
    rows = api.ask(0, 1, leader_epoch=4)
    row = rows[0]
    assert (row.error_code, row.state_epoch, row.start_offset) == (NONE, 3, 5)
    (batch,) = row.state_batches
    assert (batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count) == (5, 9, 2, 1)
    assert rows[1].error_code == ErrorCode.INVALID_REQUEST
    assert api.ask(0, leader_epoch=3)[0].error_code == ErrorCode.FENCED_LEADER_EPOCH


class TestAsOfAllItsKind(EmptyTopicConformance):
    """The behaviour that all APIs of the share coordinator have in common."""
