from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.log_cleaner import CleanerFixture

if TYPE_CHECKING:
    from collections.abc import Iterator


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.leaves_gaps("compaction removes records"))


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[CleanerFixture]:
    with _closed(CleanerFixture(tmp_path / "data")) as fixture:
        yield fixture


@pytest.fixture
def two_directories(tmp_path: Path) -> Iterator[CleanerFixture]:
    with _closed(CleanerFixture(tmp_path / "a", tmp_path / "b")) as fixture:
        yield fixture


@contextmanager
def _closed(fixture: CleanerFixture) -> Iterator[CleanerFixture]:
    """Close the fixture at the end, which waits for the thread that deletes files."""
    yield fixture
    fixture.cleaner.stop()
    fixture.manager.close()
