"""The controller hears at once which partitions a failed directory takes with it."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from kcompat.node.offline_directories import OfflineDirectories
from support.default_settings import log_settings
from support.log_manager import log_manager
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def test_each_directory_is_reported_once_and_none_after_a_stop(tmp_path: Path) -> None:
    clock = VirtualClock(0)
    manager = log_manager([tmp_path / name for name in "abcd"], clock)
    manager.open(1, "cluster", log_settings())
    for index in range(4):
        manager.create("t", index, bytes(16), log_settings())
    early, failed, full, late = manager.directories
    told: list[Sequence[tuple[str, int]]] = []
    offline = OfflineDirectories(manager, told.append)
    early.fault(OSError(errno.EIO, "Input/output error"))
    clock.advance(0)
    assert told == []
    offline.start()
    assert told == [[("t", 0)]]
    failed.fault(OSError(errno.EIO, "Input/output error"))
    failed.fault(OSError(errno.EIO, "Input/output error"))
    full.fault(OSError(errno.ENOSPC, "No space left on device"))
    clock.advance(0)
    assert told == [[("t", 0)], [("t", 1)]]
    offline.stop()
    late.fault(OSError(errno.EIO, "Input/output error"))
    clock.advance(0)
    assert len(told) == 2
    manager.close()
