"""Removing the end of a log (a follower's truncation) or its start (DeleteRecords, retention).

Each function is called by the method of `Log` of the same name, and OSError passes through to it. The order
of the steps makes a crash between any two of them leave a log that can be loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.log import retention
from kcompat.log.producer_files import load_producers
from kcompat.log.producers import ProducerState

if TYPE_CHECKING:
    from kcompat.log.log import Log


def truncate_to(log: Log, offset: int) -> bool:
    """Remove everything from `offset` on; return False if there was nothing.

    The leader epochs are cut in either case (KAFKA-10706).
    """
    assert offset >= 0, "an offset is not negative"
    log.epochs.truncate(end=offset)
    log.epochs.save()
    if offset >= log.log_end_offset:
        return False
    segments = log.local.segments
    if offset < segments.first_base_offset:
        truncate_fully_and_start_at(log, offset)
        return True
    log.local.truncate_to(offset)
    _end_at(log, offset)
    log.producer_state = load_producers(log.context.files, log.directory, list(segments), offset)
    return True


def truncate_fully_and_start_at(log: Log, offset: int) -> None:
    """Remove everything and continue with an empty log at `offset`."""
    log.local.start_anew(offset, log.durability.last_flush_ms)
    log.producer_state = ProducerState(end_offset=offset)
    log.epochs.clear()
    log.epochs.save()
    log.log_start_offset = offset
    _end_at(log, offset)
    log.context.log_start_moved()


def _end_at(log: Log, offset: int) -> None:
    log.cuts += 1
    log.log_end_offset = offset
    log.log_start_offset = min(log.log_start_offset, offset)
    log.durability.cut(offset)
    log.context.log_cut()


def delete_records_before(log: Log, offset: int) -> None:
    """Advance the log start to `offset` and store it, for DeleteRecords or to follow the leader."""
    assert offset <= log.log_end_offset, "the log start cannot pass the log end"
    former = log.log_start_offset
    if offset > former:
        log.log_start_offset = offset
        try:
            # Before the epochs are cut: a crash leaves no record without its epoch.
            log.context.log_start_moved()
        except OSError:
            log.log_start_offset = former  # stored on every call, so that a repeated request finds it stored
            raise
        _start_at(log, offset)


def _start_at(log: Log, offset: int) -> None:
    log.log_start_offset = offset
    log.epochs.truncate(start=offset)
    log.epochs.save()


def delete_old_segments(log: Log, now_ms: int, high_watermark: int) -> int:
    """Delete segments by log start, `retention.bytes` and `retention.ms`; return the number of segments
    deleted.
    """
    segments = log.local.segments
    count = retention.count_deletable(
        segments,
        log.config,
        now_ms=now_ms,
        log_start_offset=log.log_start_offset,
        log_end_offset=log.log_end_offset,
        high_watermark=high_watermark,
    )
    if count == len(segments):
        log.begin_segment(log.log_end_offset, now_ms)
    if count:
        log.local.drop_oldest(count, log.config.file_delete_delay_ms)
        _start_at(log, max(log.log_start_offset, segments.first_base_offset))
    return count
