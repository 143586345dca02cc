"""A topic that is created while there is no room for its directory gets one without a new start."""

from __future__ import annotations

import asyncio
import errno
from typing import TYPE_CHECKING

from kcompat.controller.values import TopicSpec
from kcompat.log.files import Files
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import build_batch, read_header
from kcompat.records.record import Record
from support.disk import Disk
from support.lone_broker import BrokerFixture

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.log.append import AppendResult


class FullDisk(Files):
    """May have no room for a directory."""

    has_room = True

    def make_directory(self, path: str) -> None:
        if not self.has_room:
            raise OSError(errno.ENOSPC, "No space left on device")
        super().make_directory(path)


def test_it_takes_records_as_soon_as_there_is_room(tmp_path: Path) -> None:
    asyncio.run(live_through_a_full_disk(tmp_path))


async def live_through_a_full_disk(home: Path) -> None:
    files = FullDisk()
    fixture = BrokerFixture(home, {}, Disk(), [], 0, files=files)
    await fixture.start()
    files.has_room = False
    (made,) = await fixture.answer(fixture.decisions.create_topics([TopicSpec("t", 1, 1)]))
    assert made.error == ErrorCode.NONE
    fixture.clock.advance(60_000)
    assert append(fixture) is ErrorCode.KAFKA_STORAGE_ERROR
    files.has_room = True
    (partition,) = fixture.cluster.image.topics["t"].partitions.values()
    assert partition.leader == 1
    result = append(fixture)
    assert not isinstance(result, ErrorCode)
    assert (result.error, result.base_offset) == (ErrorCode.NONE, 0)
    await fixture.stop()


def append(fixture: BrokerFixture) -> AppendResult | ErrorCode:
    partition = fixture.replicas.get("t", 0)
    assert partition is not None
    batch = memoryview(build_batch([Record(0, 1, None, b"v")]))
    return partition.append(batch, read_header(batch), -1, 1)
