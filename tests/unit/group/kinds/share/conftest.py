from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.share_group_world import ShareGroupWorld

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def world() -> Iterator[ShareGroupWorld]:
    """Coordinators and two topics; their invariants are checked when the test is over."""
    world = ShareGroupWorld()
    yield world
    world.check_invariants()
