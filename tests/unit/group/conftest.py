from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.group_world import GroupWorld

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def world() -> Iterator[GroupWorld]:
    """A group coordinator; its invariants are checked when the test is over."""
    world = GroupWorld()
    yield world
    world.check_invariants()
