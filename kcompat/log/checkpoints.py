"""The small text files of a log directory, exactly as Kafka writes them (CheckpointFile,
PartitionMetadataFile, ...).

Parsing is separate from reading: a file that is damaged raises `CheckpointDamaged`, and the caller decides
what to rebuild. Files are replaced as a whole (write `.tmp`, rename).
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

from kcompat.log.names import PARTITION_METADATA
from kcompat.protocol.uuids import uuid_from_text, uuid_to_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcompat.log.files import Files

VERSION = "0"


class CheckpointDamaged(Exception):  # noqa: N818 - the state of a file, not an error of the program
    """A checkpoint file has another version, another count than entries, or a malformed line."""


def format_offsets(offsets: Mapping[tuple[str, int], int]) -> bytes:
    """Format offsets as `topic partition offset` lines below version and count (OffsetCheckpointFile)."""
    return _format([f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()])


def parse_offsets(data: bytes) -> dict[tuple[str, int], int]:
    """Return the offsets by (topic, partition); an empty file has none. Raises CheckpointDamaged."""
    offsets = {}
    for topic, partition, offset in _entries(data, 3):
        offsets[topic, _number(partition)] = _number(offset)
    return offsets


def format_epochs(entries: Iterable[tuple[int, int]]) -> bytes:
    """Format epochs as `epoch startOffset` lines below version and count (LeaderEpochCheckpointFile)."""
    return _format([f"{epoch} {start}" for epoch, start in entries])


def parse_epochs(data: bytes) -> list[tuple[int, int]]:
    """Return the (epoch, start offset) pairs in the order of the file.

    Raises CheckpointDamaged, also if they do not strictly increase.
    """
    entries = [(_number(epoch), _number(start)) for epoch, start in _entries(data, 2)]
    for (epoch, start), (next_epoch, next_start) in pairwise(entries):
        if next_epoch <= epoch or next_start <= start:
            raise CheckpointDamaged(f"epochs {epoch} and {next_epoch} do not increase")
    return entries


def format_partition_metadata(topic_id: bytes) -> bytes:
    """Format the content of `partition.metadata`, the id of the topic that the directory belongs to
    (KIP-516).
    """
    return f"version: 0\ntopic_id: {uuid_to_text(topic_id)}".encode()


def parse_partition_metadata(data: bytes) -> bytes:
    """Return the 16 bytes of the topic id. Raises CheckpointDamaged."""
    fields = dict(line.split(": ", 1) for line in _text(data).splitlines() if ": " in line)
    if fields.get("version") != VERSION or "topic_id" not in fields:
        raise CheckpointDamaged("no version 0 or no topic_id")
    try:
        return uuid_from_text(fields["topic_id"].strip())
    except ValueError as error:
        raise CheckpointDamaged(str(error)) from error


def format_clean_shutdown(broker_epoch: int) -> bytes:
    """Return the content of `.kafka_cleanshutdown`, as Kafka's CleanShutdownFileHandler writes it."""
    return json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":")).encode()


def parse_clean_shutdown(data: bytes) -> int:
    """Return the broker epoch of the run that ended cleanly; -1 when unknown.

    The existence of the file alone marks a clean stop.
    """
    try:
        content = json.loads(data)
        return int(content["brokerEpoch"])
    except (ValueError, KeyError, TypeError):
        return -1


def format_properties(properties: Mapping[str, str]) -> bytes:
    """Format the content of `meta.properties`; ids and numbers need no escaping."""
    return "".join(f"{key}={value}\n" for key, value in sorted(properties.items())).encode()


def parse_properties(data: bytes) -> dict[str, str]:
    """Return the keys and values of a Java properties file. Raises CheckpointDamaged."""
    import javaproperties  # a broker whose directories are new starts without it

    try:
        return dict(javaproperties.loads(_text(data)))
    except ValueError as error:
        raise CheckpointDamaged(str(error)) from error


def make_log_directory(files: Files, directory: str, topic_id: bytes) -> None:
    """Create the directory of a log and its `partition.metadata`.

    A failure leaves nothing behind, so that the caller may try again.
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
    """Write `partition.metadata` again where a crash left no readable one. Raises OSError."""
    files.replace_file(f"{directory}/{PARTITION_METADATA}", format_partition_metadata(topic_id), sync=True)


def read_optional(files: Files, path: str) -> bytes | None:
    """Return the content of a file; None if the file does not exist."""
    try:
        return files.read_file(path)
    except FileNotFoundError:
        return None


def _format(lines: list[str]) -> bytes:
    return "\n".join([VERSION, str(len(lines)), *lines, ""]).encode()


def _entries(data: bytes, columns: int) -> list[list[str]]:
    if not data:
        return []
    lines = _text(data).splitlines()
    if len(lines) < 2 or lines[0].strip() != VERSION:
        raise CheckpointDamaged("unknown version")
    count = _number(lines[1].strip())
    entries = [line.split() for line in lines[2:] if line]
    if len(entries) != count:
        raise CheckpointDamaged(f"{len(entries)} entries where {count} are announced")
    if any(len(entry) != columns for entry in entries):
        raise CheckpointDamaged("malformed line")
    return entries


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CheckpointDamaged("not text") from error


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 19:
        raise CheckpointDamaged(f"{text!r} is no offset")
    return int(text)
