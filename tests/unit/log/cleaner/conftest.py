from __future__ import annotations

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
    fixture = CleanerFixture(tmp_path / "data")
    yield fixture
    fixture.cleaner.stop()
    fixture.manager.close()
