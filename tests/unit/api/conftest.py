from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.topics_on_disk import ONE, TWO, TopicsFixture

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def fixture(tmp_path: Path) -> TopicsFixture:
    """Two topics, one with two partitions and a record of time 1000."""
    fixture = TopicsFixture(tmp_path)
    fixture.create("t", partitions=2, topic_id=ONE)
    fixture.create("u", topic_id=TWO)
    fixture.produce((0, bytes(build_batch([Record(0, 1000, b"k", b"v")]))), topic="t")
    return fixture
