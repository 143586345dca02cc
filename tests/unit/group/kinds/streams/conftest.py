from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.streams_groups import StreamsGroupFixture

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def fixture() -> Iterator[StreamsGroupFixture]:
    """A coordinator and two topics; its invariants are checked when the test is over."""
    fixture = StreamsGroupFixture()
    yield fixture
    fixture.check_invariants()
