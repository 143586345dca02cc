"""SyncGroup over every version, with the answers that Kafka 3.9.2 gave."""

from __future__ import annotations

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying
from support.group_apis import GroupHandlers, sync


@pytest.fixture
def broker() -> GroupHandlers:
    return GroupHandlers()


def test_sync_5_must_name_the_protocol(broker: GroupHandlers) -> None:
    member = broker.member()
    assert broker.ask(sync("g", member, 1), 4).error_code == 0
    answer = broker.ask(sync("g", member, 1, protocol_type="consumer"), 5)
    assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_needs_to_read_the_group_once_the_request_is_whole(broker: GroupHandlers) -> None:
    broker.authorizer = Denying((Operation.READ, Resource.group("g")))
    assert broker.ask(sync("g", "m", 1), 4).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert broker.ask(sync("g", "m", 1), 5).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
