"""Restoring all logs of a broker to their state at one time.

No part of the broker may use the logs meanwhile or keep one: each log is another object afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.log.images import successor_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.log.config import LogConfig
    from kcompat.log.directory import LogDirectory
    from kcompat.log.images import LogImage
    from kcompat.log.manager import LogManager


class MarkedLog(Struct, frozen=True):
    """The image of one log, and what its log directory had recorded about it."""

    image: LogImage
    high_watermark: int
    clean_offset: int | None
    """Offset up to which the log was compacted; None if it never was."""


def rewind(
    logs: LogManager, marked: Mapping[tuple[str, int], MarkedLog], defaults: LogConfig, now_ms: int
) -> None:
    """Make these logs the only logs of a broker. `defaults` is their configuration until that of their topics
    is known.

    A log directory that has gone offline is tried again. Raises StorageError, OSError; some logs are then
    missing.
    """
    unchanged = {
        key: log
        for key, one in marked.items()
        if (log := logs.get(*key)) is not None and one.image.shows(log)
    }
    for directory in logs.directories:
        directory.offline = None
    for log in logs:
        if (log.topic, log.partition) not in unchanged:
            logs.delete(log.topic, log.partition, delay_ms=0)
    for future in logs.futures:
        logs.delete_future(future.topic, future.partition)
    loaded: dict[LogDirectory, None] = {}
    for key, one in marked.items():
        directory = _directory(logs, one.image)
        if key in unchanged:
            unchanged[key].make()  # the manager knows only of this object that it is still to be made
            logs.put(directory, successor_of(unchanged[key]))
        elif one.image.is_empty:
            logs.futures.prefer(*key, directory.path)
            logs.create(*key, one.image.topic_id, defaults)
        else:
            logs.put(directory, one.image.load(key, directory, defaults, now_ms))
            loaded[directory] = None
        _remember(directory, key, one)
    for directory in loaded:  # a start after a kill must not read what the checkpoints say of the time before
        directory.log_cut()
        directory.checkpoint_log_starts()
        directory.checkpoint_cleaner_offsets()


def _directory(logs: LogManager, image: LogImage) -> LogDirectory:
    directory = logs.directory(image.directory)
    assert directory is not None, "the log directories stay the same as long as the broker runs"
    return directory


def _remember(directory: LogDirectory, key: tuple[str, int], one: MarkedLog) -> None:
    directory.high_watermarks[key] = one.high_watermark
    if one.clean_offset is None:
        directory.cleaner_offsets.pop(key, None)
    else:
        directory.cleaner_offsets[key] = one.clean_offset
