"""Error codes that a partition returns for fenced leader epochs and for faults of its log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from kcompat.log.errors import StorageError
from kcompat.protocol.constants import NO_EPOCH
from kcompat.protocol.errors import ErrorCode
from kcompat.records.errors import RecordsDamaged

if TYPE_CHECKING:
    from kcompat.log.log import Log

logger = logging.getLogger(__name__)

FAULTS: Final = (StorageError, OSError, RecordsDamaged)
"""Exceptions that a log raises if its disk fails, or does not contain what was written."""


def storage_error(fault: StorageError | OSError | RecordsDamaged, log: Log) -> ErrorCode:
    """Return the error code for a fault of `log`.

    A fault of the disk takes the log directory offline, unless the fault may be temporary
    (`LogContext.fault`). Damaged records affect this partition alone.
    """
    if isinstance(fault, RecordsDamaged):
        logger.warning("%s-%d holds damaged records: %s", log.topic, log.partition, fault)
        return ErrorCode.CORRUPT_MESSAGE
    if isinstance(fault, OSError):
        log.context.fault(fault)
    return ErrorCode.KAFKA_STORAGE_ERROR


def fence(known_epoch: int, epoch: int) -> ErrorCode:
    """Return the error for a client that sends the leader epoch `known_epoch` (-1: none) while `epoch` is the
    current one; NONE if it may continue (KIP-320).
    """
    if known_epoch in (NO_EPOCH, epoch):
        return ErrorCode.NONE
    return ErrorCode.FENCED_LEADER_EPOCH if known_epoch < epoch else ErrorCode.UNKNOWN_LEADER_EPOCH
