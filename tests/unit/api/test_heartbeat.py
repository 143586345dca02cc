"""Heartbeat over every version, with the answers that Kafka 3.9.2 gave."""

from __future__ import annotations

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying
from support.group_apis import GroupHandlers


@pytest.fixture
def broker() -> GroupHandlers:
    return GroupHandlers()


@pytest.mark.parametrize("version", range(5))
def test_heartbeats(broker: GroupHandlers, version: int) -> None:
    member = broker.member()
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id=member)
    assert broker.ask(beat, version).error_code == 0
    beat.generation_id = 2
    assert broker.ask(beat, version).error_code == ErrorCode.ILLEGAL_GENERATION


def test_needs_to_read_the_group(broker: GroupHandlers) -> None:
    broker.authorizer = Denying((Operation.READ, Resource.group("g")))
    assert broker.ask(HeartbeatRequest(group_id="g"), 4).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
