"""The highest producer ids in a log, for the code that assigns new ones."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import TYPE_CHECKING

from kcompat.log.checkpoints import CheckpointDamaged
from kcompat.log.files import FILES, OpenFile, pread_all
from kcompat.log.names import LOG, SNAPSHOT
from kcompat.log.producer_snapshot import decode_snapshot
from kcompat.log.scan import walk_headers
from kcompat.protocol.messages.transaction_log import TransactionLogValue
from kcompat.protocol.schema import ProtocolViolation
from kcompat.records.batch import read_records
from kcompat.records.errors import RecordsDamaged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.log.files import Files

NO_PRODUCER_ID = -1
MAX_PRODUCER_ID = 2**63 - 1

_VERSION = struct.Struct(">h")


def highest_producer_id(directory: str, limit: int = MAX_PRODUCER_ID, files: Files = FILES) -> int:
    """Return the largest id up to `limit` in the batches and producer snapshots of a partition's directory,
    or -1.

    Every batch header is read, so the function is for rare use. Raises OSError.
    """
    found = (number for name in files.list(directory) for number in _ids(f"{directory}/{name}", files))
    return max((number for number in found if number <= limit), default=NO_PRODUCER_ID)


def _ids(path: str, files: Files) -> Iterator[int]:
    if path.endswith(LOG):
        file = files.open_existing(path)
        for _, header in walk_headers(file, 0, files.size(path) or 0):
            yield header.producer_id
    elif path.endswith(SNAPSHOT):
        with suppress(CheckpointDamaged):
            for entry in decode_snapshot(files.read_file(path)):
                yield entry.producer_id


def highest_transactional_producer_id(directory: str, files: Files = FILES) -> int:
    """Return the largest id that a partition of `__transaction_state` has given to a transactional id, or -1.

    Raises OSError.
    """
    highest = NO_PRODUCER_ID
    for name in files.list(directory):
        if name.endswith(LOG):
            file = files.open_existing(f"{directory}/{name}")
            for value in _transactions(file, files.size(f"{directory}/{name}") or 0):
                highest = max(highest, value.producer_id, value.previous_producer_id, value.next_producer_id)
    return highest


def _transactions(file: OpenFile, end: int) -> Iterator[TransactionLogValue]:
    for position, header in walk_headers(file, 0, end):
        with suppress(RecordsDamaged, ProtocolViolation, struct.error, ValueError):
            for record in read_records(memoryview(pread_all(file, header.size, position))):
                if record.value is not None:
                    version = _VERSION.unpack_from(record.value)[0]
                    yield TransactionLogValue.decode(memoryview(record.value), version, _VERSION.size)
