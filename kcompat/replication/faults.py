"""Faults of a log, as those who asked something of it are told of them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from kcompat.log.errors import StorageError
from kcompat.protocol.errors import ErrorCode
from kcompat.records.errors import RecordsDamaged

if TYPE_CHECKING:
    from kcompat.log.log import Log

logger = logging.getLogger(__name__)

FAULTS: Final = (StorageError, OSError, RecordsDamaged)
"""What a log raises where its disk fails, or does not hold what was written."""


def error_of(fault: StorageError | OSError | RecordsDamaged, log: Log) -> ErrorCode:
    """What a client is told of a fault. One of the disk takes the directory offline, unless it may pass
    (`LogContext.fault`); damaged records concern this partition alone.
    """
    if isinstance(fault, RecordsDamaged):
        logger.warning("%s-%d holds damaged records: %s", log.topic, log.partition, fault)
        return ErrorCode.CORRUPT_MESSAGE
    if isinstance(fault, OSError):
        log.context.fault(fault)
    return ErrorCode.KAFKA_STORAGE_ERROR
