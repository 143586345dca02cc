"""A replica that does not lead: whom it turns away, and how."""

from __future__ import annotations

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.replication.errors import fence
from kcompat.replication.role import Follower


def test_clients_are_sent_to_the_leader_unless_the_disk_has_failed() -> None:
    follower = Follower(epoch=4, high_watermark=7)
    assert follower.refusal(has_failed=False) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert follower.refusal(has_failed=True) == ErrorCode.KAFKA_STORAGE_ERROR
    follower.check_invariants(log_end_offset=7)


@pytest.mark.parametrize("has_failed", [False, True])
def test_a_replica_that_is_gone_is_not_known(has_failed: bool) -> None:
    gone = Follower(epoch=4, high_watermark=7, is_retired=True)
    assert gone.refusal(has_failed=has_failed) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    ("known", "error"),
    [
        (-1, ErrorCode.NONE),
        (3, ErrorCode.FENCED_LEADER_EPOCH),
        (4, ErrorCode.NONE),
        (5, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_a_client_of_another_epoch_is_fenced(known: int, error: ErrorCode) -> None:
    assert fence(known, 4) == error
