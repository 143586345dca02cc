from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.group_coordinators import ConsumerGroupFixture

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def fixture() -> Iterator[ConsumerGroupFixture]:
    """A group coordinator and two topics; its invariants are checked when the test is over."""
    fixture = ConsumerGroupFixture()
    yield fixture
    fixture.check_invariants()
