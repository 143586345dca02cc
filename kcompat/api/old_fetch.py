"""Records for Fetch versions 0 to 3: messages of magic 0 (versions 0 and 1) or magic 1.

As in `maybeConvertFetchedData` of Kafka's `KafkaApis`, a topic with `message.downconversion.enable=false`
gets UNSUPPORTED_VERSION, even without records to convert, and a first batch in zstd gets
UNSUPPORTED_COMPRESSION_TYPE.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kcompat.log.converted import ConvertedRange
from kcompat.protocol.errors import ErrorCode
from kcompat.records.down_convert import UnsupportedCodec
from kcompat.records.errors import RecordsDamaged
from kcompat.records.message_set import MAGIC_V0, MAGIC_V1
from kcompat.replication.reading import Fetched

if TYPE_CHECKING:
    from kcompat.replication.partition import Partition
    from kcompat.replication.replica_manager import ReplicaManager
    from kcompat.replication.waiting.delayed_fetch import Results

logger = logging.getLogger(__name__)

FIRST_WITH_MAGIC_1 = 2
FIRST_WITH_BATCHES = 4


def in_old_format(results: Results, api_version: int, replicas: ReplicaManager) -> Results:
    """Return the results with their records converted for an old version of Fetch."""
    magic = MAGIC_V0 if api_version < FIRST_WITH_MAGIC_1 else MAGIC_V1
    converted: Results = []
    for target, fetched in results:
        assert isinstance(target.topic, str)  # old versions know no topic ids
        partition = replicas.get(target.topic, target.index)
        if partition is not None:
            fetched = _convert(fetched, partition, target.spec.offset, magic)
        converted.append((target, fetched))
    return converted


def _convert(fetched: Fetched, partition: Partition, first_offset: int, magic: int) -> Fetched:
    config = partition.log.config
    if not config.message_downconversion_enable:
        return Fetched(ErrorCode.UNSUPPORTED_VERSION)
    source = fetched.records
    if isinstance(source, bytes | ConvertedRange):
        return fetched  # no records were read
    try:
        fetched.records = ConvertedRange(
            source, magic, first_offset, config.max_message_bytes, partition.statistics.note_conversion
        )
    except UnsupportedCodec:
        return Fetched(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    except RecordsDamaged as damage:
        logger.warning("%s-%d cannot be converted: %s", partition.topic, partition.index, damage)
        return Fetched(ErrorCode.CORRUPT_MESSAGE)
    except OSError as error:
        partition.log.context.fault(error)
        return Fetched(ErrorCode.KAFKA_STORAGE_ERROR)
    return fetched
