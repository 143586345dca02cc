"""The session of a broker that is cut off from a store in its own process."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from kcompat.node.cluster import BorrowedStore
from kcompat.store.interface import SessionState
from kcompat.store.process_store import ProcessStore
from support.current import current
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from kcompat.store.interface import MetadataStore

TIMEOUT_MS = 3000


class Fixture:
    """A store, and one session that is borrowed from it."""

    async def begin(self) -> None:
        self.clock = VirtualClock()
        self.store = ProcessStore.in_memory(self.clock.now_ms)
        self.borrowed = BorrowedStore(self.store, self.clock)
        self.session: MetadataStore = await self.borrowed.session()
        await self.session.create("/here", ephemeral=True)

    async def is_dead(self) -> bool:
        """Whether the store takes the broker for dead, once all is done that can be done now."""
        for _ in range(10):
            await asyncio.sleep(0)
        return "/here" not in self.store.tree.nodes


@pytest.fixture
async def fixture() -> AsyncIterator[Fixture]:
    made = Fixture()
    await made.begin()
    yield made
    await made.store.close()


async def test_a_session_that_is_mended_in_time_lives_on(fixture: Fixture) -> None:
    fixture.borrowed.cut(TIMEOUT_MS)
    assert current(fixture.session.state) is SessionState.SUSPENDED
    fixture.clock.advance(TIMEOUT_MS - 1)
    fixture.borrowed.mend()
    fixture.clock.advance(TIMEOUT_MS)
    assert not await fixture.is_dead()
    assert fixture.session.state is SessionState.CONNECTED


async def test_a_session_that_is_mended_too_late_has_ended(fixture: Fixture) -> None:
    fixture.borrowed.cut(TIMEOUT_MS)
    fixture.clock.advance(TIMEOUT_MS)
    assert await fixture.is_dead()
    assert current(fixture.session.state) is SessionState.SUSPENDED
    fixture.borrowed.mend()
    assert fixture.session.state is SessionState.EXPIRED


@pytest.mark.parametrize("was_cut", [False, True])
async def test_the_session_of_a_killed_broker_ends_whatever_is_mended(
    fixture: Fixture, was_cut: bool
) -> None:
    if was_cut:
        fixture.borrowed.cut(TIMEOUT_MS)
    fixture.borrowed.abandon(TIMEOUT_MS)
    fixture.borrowed.mend()
    assert current(fixture.session.state) is SessionState.SUSPENDED
    fixture.clock.advance(TIMEOUT_MS)
    assert await fixture.is_dead()


async def test_a_session_that_was_closed_cannot_be_cut(fixture: Fixture) -> None:
    await fixture.borrowed.close()
    fixture.borrowed.cut(TIMEOUT_MS)
    assert fixture.clock.pending == 0
    await fixture.borrowed.close()
