"""Names of files and directories, as Kafka gives them (LogFileUtils, UnifiedLog)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from random import Random

LOG, INDEX, TIME_INDEX, TXN_INDEX, SNAPSHOT = ".log", ".index", ".timeindex", ".txnindex", ".snapshot"
SEGMENT_SUFFIXES = (LOG, INDEX, TIME_INDEX, TXN_INDEX)
DELETED, CLEANED, SWAP = ".deleted", ".cleaned", ".swap"
LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
LOCK = ".lock"
REMEMBERED_SESSIONS = "kcompat-sessions"

_MAX_DIRECTORY_NAME = 255
_PARTITION_DIRECTORY = re.compile(r"([a-zA-Z0-9._-]+)-(\d+)")
_MARKED_DIRECTORY = re.compile(r".+\.[0-9a-f]{32}-(delete|future|stray)")
_FUTURE_DIRECTORY = re.compile(r"([a-zA-Z0-9._-]+)-(\d+)\.[0-9a-f]{32}-future")


def segment_name(base_offset: int, suffix: str) -> str:
    """Return the name of a file of a segment, such as `00000000000000000042.log`."""
    return f"{base_offset:020d}{suffix}"


def offset_of(name: str) -> int | None:
    """Return the offset in the name of a segment file or snapshot; None for other names."""
    digits = name.partition(".")[0]
    return int(digits) if len(digits) == 20 and digits.isascii() and digits.isdigit() else None


def partition_directory(topic: str, partition: int) -> str:
    """Return the name of a partition's directory, such as `topic-0`."""
    return f"{topic}-{partition}"


def parse_partition_directory(name: str) -> tuple[str, int] | None:
    """Return the topic and partition of a live partition's directory; None for other names."""
    if is_marked(name):
        return None
    match = _PARTITION_DIRECTORY.fullmatch(name)
    return (match[1], int(match[2])) if match else None


def deleted_directory(topic: str, partition: int, random: Random) -> str:
    """Return a unique name for a directory that is to be deleted."""
    return _marked_directory(topic, partition, "delete", random)


def stray_directory(topic: str, partition: int, random: Random) -> str:
    """Return a unique name for a directory that does not belong to the partition in its name."""
    return _marked_directory(topic, partition, "stray", random)


def _marked_directory(topic: str, partition: int, mark: str, random: Random) -> str:
    """Return a unique name with a `mark`; the topic is cut so that the name has at most 255 characters."""
    suffix = f"-{partition}.{UUID(int=random.getrandbits(128), version=4).hex}-{mark}"
    return topic[: _MAX_DIRECTORY_NAME - len(suffix)] + suffix


def future_directory(topic: str, partition: int, random: Random) -> str:
    """Return a unique name for the directory of a future log.

    The topic's name is not shortened, so topics with long names cannot be moved (`can_move`).
    """
    return f"{topic}-{partition}.{UUID(int=random.getrandbits(128), version=4).hex}-future"


def can_move(topic: str, partition: int) -> bool:
    """Return whether the name of `future_directory` is short enough for a file system."""
    return len(f"{topic}-{partition}.{'0' * 32}-future") <= _MAX_DIRECTORY_NAME


def parse_future_directory(name: str) -> tuple[str, int] | None:
    """Return the topic and partition of a future log's directory; None for other names."""
    match = _FUTURE_DIRECTORY.fullmatch(name)
    return (match[1], int(match[2])) if match else None


def is_marked(name: str) -> bool:
    """Return whether the name is one of Kafka's `-delete`, `-future` or `-stray`, whose logs are never
    served.
    """
    return _MARKED_DIRECTORY.fullmatch(name) is not None


def is_deleted_directory(name: str) -> bool:
    """Return whether the directory is to be deleted."""
    return name.endswith("-delete") and is_marked(name)
