"""JoinGroup over every version, with the answers that Kafka 3.9.2 gave."""

from __future__ import annotations

import pytest

from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying
from support.group_apis import GroupHandlers, join, sync


@pytest.fixture
def broker() -> GroupHandlers:
    return GroupHandlers()


@pytest.mark.parametrize("version", range(10))
def test_a_member_joins_and_syncs_in_every_version(broker: GroupHandlers, version: int) -> None:
    joined = broker.ask(join(), version)
    if version >= 4:
        assert (joined.error_code, joined.generation_id) == (ErrorCode.MEMBER_ID_REQUIRED, -1)
        assert joined.protocol_name == (None if version >= 7 else "")
        joined = broker.ask(join(member_id=joined.member_id), version)
    assert (joined.error_code, joined.generation_id, joined.protocol_name) == (0, 1, "range")
    assert joined.member_id == joined.leader == "app-1"
    assert joined.protocol_type == ("consumer" if version >= 7 else None)
    assert [(m.member_id, m.metadata) for m in joined.members] == [("app-1", b"meta")]
    sync_version = min(version, 5)
    named = {"protocol_type": "consumer", "protocol_name": "range"} if sync_version >= 5 else {}
    synced = broker.ask(sync("g", "app-1", 1, {"app-1": b"all"}, **named), sync_version)
    assert (synced.error_code, synced.assignment) == (0, b"all")
    assert synced.protocol_name == ("range" if sync_version >= 5 else None)


def test_a_static_member_joins_at_once(broker: GroupHandlers) -> None:
    joined = broker.ask(join(group_instance_id="i"), 9)
    assert (joined.error_code, joined.member_id) == (0, "i-1")
    assert joined.members[0].group_instance_id == "i"


def test_version_0_rebalances_within_the_session(broker: GroupHandlers) -> None:
    broker.ask(join(session_timeout_ms=20_000), 0)
    group = broker.fixture.group("g")
    assert group is not None
    assert group.members["app-1"].rebalance_timeout_ms == 20_000
    assert group.members["app-1"].client_host == "/10.0.0.7"


def test_a_join_that_waits_is_a_promise(broker: GroupHandlers) -> None:
    member = broker.member()
    waiting = broker.ask(join(), 3)
    assert isinstance(waiting, Promise)
    broker.ask(join(member_id=member), 3)
    assert waiting.value.generation_id == 2


def test_a_client_without_an_id(broker: GroupHandlers) -> None:
    assert broker.ask(join(), 0, client_id=None).member_id == "-1"


@pytest.mark.parametrize("version", [0, 5, 9])
def test_needs_to_read_the_group(broker: GroupHandlers, version: int) -> None:
    broker.authorizer = Denying((Operation.READ, Resource.group("g")))
    answer = broker.ask(join("g", "m"), version)
    assert (answer.error_code, answer.generation_id) == (ErrorCode.GROUP_AUTHORIZATION_FAILED, -1)
    assert (answer.member_id, answer.leader) == ("", "")
    assert broker.fixture.group("g") is None
