from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.log_world import ONE, TWO, LogWorld

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def world(tmp_path: Path) -> LogWorld:
    """Two topics, one with two partitions and a record of time 1000."""
    world = LogWorld(tmp_path)
    world.create("t", partitions=2, topic_id=ONE)
    world.create("u", topic_id=TWO)
    world.produce((0, bytes(build_batch([Record(0, 1000, b"k", b"v")]))), topic="t")
    return world
