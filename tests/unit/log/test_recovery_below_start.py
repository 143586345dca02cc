"""Recovery keeps records although the checkpoint has no epochs of the records below the log start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.log.loader import create_log, open_log
from kcompat.records.batch import build_batch, read_header
from kcompat.records.record import Record
from support.default_settings import log_settings

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.log.log import Log

NOW = 1_700_000_000_000


def append(log: Log, epoch: int) -> None:
    batch = memoryview(build_batch([Record(0, NOW, None, b"v" * 100)] * 10))
    log.append_as_leader(batch, read_header(batch), epoch, NOW)


def test_an_epoch_below_the_log_start_is_no_damage(tmp_path: Path) -> None:
    directory = tmp_path / "t-0"
    log = create_log(directory, "t", 0, log_settings(), topic_id=bytes(16), now_ms=NOW)
    for epoch in (0, 0, 1, 1):
        append(log, epoch)
    log.delete_records_before(35)

    recovered = open_log(directory, "t", 0, log_settings(), now_ms=NOW, recovery_point=0, log_start_offset=35)

    assert (recovered.log_start_offset, recovered.log_end_offset) == (35, 40)
    assert recovered.epochs.epoch_for(36) == 1
