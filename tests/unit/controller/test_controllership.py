"""Controller elections whose answer from the metadata store is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.cluster import znodes
from kcompat.controller import loading
from kcompat.controller.controllership import Controllership, elect
from kcompat.store.interface import UnknownOutcomeError
from kcompat.store.process_session import ProcessSession
from kcompat.store.process_store import ProcessStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.store.interface import Op, OpResult

ME, OTHER = 1, 2


class Unanswered(ProcessSession):
    """A session whose transactions get no answer; `arrives` says whether the store applies them."""

    arrives = True

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        if self.arrives:
            await super().multi(ops)
        raise UnknownOutcomeError("the connection was lost")


async def prepared() -> tuple[ProcessStore, Unanswered]:
    store = ProcessStore.in_memory(lambda: 0)
    session = await store.session()
    await loading.prepare(session)
    await session.create(znodes.CONTROLLER_EPOCH, znodes.encode_epoch(0))
    return store, Unanswered(store, session_id=99)


async def test_a_controller_whose_election_was_made_unanswered_is_elected() -> None:
    _, session = await prepared()
    assert await elect(session, ME, 0) == Controllership(1, 1)
    assert await elect(session, ME, 0, is_held=True) == Controllership(2, 2)


@pytest.mark.parametrize("is_held", [False, True])
async def test_an_election_that_was_lost_on_the_way_elects_nobody(is_held: bool) -> None:
    _, session = await prepared()
    if is_held:
        assert await elect(session, ME, 0) == Controllership(1, 1)
    session.arrives = False
    assert await elect(session, ME, 0, is_held=is_held) is None


async def test_an_election_without_an_answer_that_another_broker_won_elects_nobody_here() -> None:
    store, session = await prepared()
    assert await elect(await store.session(), OTHER, 0) == Controllership(1, 1)
    session.arrives = False
    assert await elect(session, ME, 0) is None
