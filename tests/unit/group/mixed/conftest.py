from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.mixed_group_world import MixedGroupWorld

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def world() -> Iterator[MixedGroupWorld]:
    """A group coordinator and two topics; its invariants are checked when the test is over."""
    world = MixedGroupWorld()
    yield world
    world.check_invariants()
