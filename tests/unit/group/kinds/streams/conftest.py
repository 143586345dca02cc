from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.streams_group_world import StreamsGroupWorld

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def world() -> Iterator[StreamsGroupWorld]:
    """A coordinator and two topics; its invariants are checked when the test is over."""
    world = StreamsGroupWorld()
    yield world
    world.check_invariants()
