"""A broker reads the metadata store for DescribeQuorum."""

from __future__ import annotations

import pytest

from kcompat.cluster import znodes
from kcompat.cluster.quorum import MetadataQuorum, QuorumState
from kcompat.store.process_store import ProcessStore
from support.controllers import answer


async def state_of(nodes: dict[str, bytes]) -> tuple[QuorumState | None, int]:
    """Return the state that is read from a store with these nodes, and the last transaction's id."""
    store = ProcessStore.in_memory(lambda: 0)
    session = await store.session()
    for path, data in nodes.items():
        await session.create(path, data)
    quorum = MetadataQuorum(session)
    state = await answer(quorum.read())
    last = store.tree.zxid
    await store.close()
    return state, last


CONTROLLER = {znodes.CONTROLLER: znodes.encode_controller(3, 0)}
EPOCH = {znodes.CONTROLLER_EPOCH: znodes.encode_epoch(5)}


async def test_the_controller_its_epoch_and_the_last_transaction() -> None:
    state, last = await state_of({**CONTROLLER, **EPOCH, "/other": b""})
    assert state == QuorumState(3, 5, last)
    assert last == 3


@pytest.mark.parametrize(
    "nodes",
    [
        {},
        EPOCH,
        CONTROLLER,
        {**CONTROLLER, znodes.CONTROLLER_EPOCH: b"many"},
        {**EPOCH, znodes.CONTROLLER: b"[]"},
    ],
)
async def test_there_is_no_state_without_a_controller_that_can_be_read(nodes: dict[str, bytes]) -> None:
    assert (await state_of(nodes))[0] is None


async def test_there_is_no_state_once_the_session_has_ended() -> None:
    store = ProcessStore.in_memory(lambda: 0)
    session = await store.session()
    await session.expire()
    assert await answer(MetadataQuorum(session).read()) is None
    await store.close()
