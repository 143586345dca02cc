"""Making a new log on the disk: its directory, and the topic id in it, before the first append."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.log.checkpoints import format_partition_metadata
from kcompat.log.names import PARTITION_METADATA

if TYPE_CHECKING:
    from kcompat.log.files import Files


def make_log_directory(files: Files, directory: str, topic_id: bytes) -> None:
    """Make the directory of a log and its `partition.metadata`. Raises FileExistsError, OSError.

    Where that fails, nothing stays behind, so that it may be tried again.
    """
    files.make_directory(directory)
    metadata = f"{directory}/{PARTITION_METADATA}"
    try:
        files.write_file(metadata, format_partition_metadata(topic_id))
    except OSError:
        files.remove([metadata])
        files.remove_empty_directory(directory)
        raise


def store_topic_id(files: Files, directory: str, topic_id: bytes) -> None:
    """Write `partition.metadata` anew where a crash left none that can be read. Raises OSError."""
    files.replace_file(f"{directory}/{PARTITION_METADATA}", format_partition_metadata(topic_id), sync=True)
