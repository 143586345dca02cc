from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.cleaner_world import CleanerWorld

if TYPE_CHECKING:
    from collections.abc import Iterator


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.leaves_gaps("compaction removes records"))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[CleanerWorld]:
    world = CleanerWorld(tmp_path / "data")
    yield world
    world.cleaner.stop()
    world.manager.close()
