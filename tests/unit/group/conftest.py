from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.group_coordinators import GroupFixture

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def fixture() -> Iterator[GroupFixture]:
    """A group coordinator; its invariants are checked when the test is over."""
    fixture = GroupFixture()
    yield fixture
    fixture.check_invariants()
