from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.consumer_group_world import ConsumerGroupWorld

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def world() -> Iterator[ConsumerGroupWorld]:
    """A group coordinator and two topics; its invariants are checked when the test is over."""
    world = ConsumerGroupWorld()
    yield world
    world.check_invariants()
