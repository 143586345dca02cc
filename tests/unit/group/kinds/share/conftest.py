from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.share_groups import ShareGroupFixture

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def fixture() -> Iterator[ShareGroupFixture]:
    """Coordinators and two topics; their invariants are checked when the test is over."""
    fixture = ShareGroupFixture()
    yield fixture
    fixture.check_invariants()
