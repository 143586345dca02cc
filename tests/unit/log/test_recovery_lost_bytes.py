"""A power cut took the bytes of older segments that were not synced, and left a newer one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kcompat.log.producer_files import snapshot_path
from kcompat.log.producer_snapshot import decode_snapshot


def test_producers_are_what_the_batches_that_are_left_say(make_harness: Any) -> None:
    harness = make_harness(segment_bytes=250)
    for number in range(6):
        harness.append(1, producer_id=5, producer_epoch=0, base_sequence=number)
    assert harness.log.local.segments.base_offsets == [0, 2, 4]
    for base in (2, 4):
        (harness.directory / f"{base:020d}.log").write_bytes(b"")
    log = harness.reopen()
    assert harness.offsets() == [(0, 0), (1, 1)]
    assert log.producers[0].last_sequence == 1
    stored = decode_snapshot(Path(snapshot_path(str(harness.directory), 4)).read_bytes())
    assert stored[0].last_sequence == 1
    log.check_invariants()
