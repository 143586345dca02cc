"""The check of a produced batch and the bytes to store of it, on the event loop or in a helper thread.

A compressed batch has to be unpacked for the check, and may have to be compressed again. Its size does not
tell how long that takes: a malicious client can make 100 MB fit into 100 KB. So the event loop unpacks at
most `INLINE` bytes of a request. Larger work goes to helper threads: first to the thread that unpacks at most
`SHORT` bytes of a batch, then to the thread without a limit.
"""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from kcompat.net.helpers import Lane
from kcompat.promise import Promise
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.allowance import Allowance, AllowanceSpent
from kcompat.records.layout import (
    CODEC_MASK,
    HEADER_PLACES,
    MAGIC,
    MAGIC_AT,
    MESSAGE_ATTRIBUTES_AT,
    TRANSACTIONAL_FLAG,
)
from kcompat.records.recompress import conform
from kcompat.records.up_convert import accept_old
from kcompat.records.validate import BatchRefusal, check_plain, check_produced

if TYPE_CHECKING:
    from kcompat.log.config import LogConfig
    from kcompat.net.helpers import Helpers
    from kcompat.records.batch import BatchHeader

INLINE = 1536 * 1024
"""Bytes that one request may have unpacked and packed on the event loop, as `Allowance` counts: some
milliseconds. An ordinary batch of 1 MB is processed faster than handed over, unless it is gzip.
"""
INLINE_PACKED = INLINE // 2
"""Bytes of the largest compressed batch that is tried on the event loop: a larger one hardly ever unpacks to
less than `INLINE`.
"""
SHORT = 16 * 1024 * 1024
"""Bytes that one batch may have unpacked and packed in the helper thread for short work: some ten
milliseconds.
"""

FIRST_WITH_BATCHES = 3
PartitionData = ProduceRequest.PartitionProduceData
_BATCH_ATTRIBUTES_AT = HEADER_PLACES["attributes"].at + 1  # the lower byte of two

Stored: TypeAlias = "tuple[memoryview, BatchHeader] | BatchRefusal | None"
"""The bytes to store, the reason to refuse the batch, or None for an old message set without a complete
message.
"""


class Spent(Enum):
    """Enumeration with `SPENT` alone, which marks an exhausted `Allowance` in types."""

    SPENT = "spent"


SPENT: Final = Spent.SPENT


def accept(batch: memoryview, api_version: int, config: LogConfig, now_ms: int) -> Stored:
    """Check a batch against its topic's configs. The bytes to store are the given ones or a copy."""
    if api_version < FIRST_WITH_BATCHES:
        return accept_old(batch, config, config.compression, now_ms)
    header = check_produced(batch, api_version, config, now_ms)
    if isinstance(header, BatchRefusal):
        return header
    return conform(batch, header, config.compression, config.max_message_bytes)


def accept_plain(batch: memoryview, api_version: int, config: LogConfig, now_ms: int) -> BatchHeader | None:
    """Return the header of a valid batch that is stored unchanged, as most are; None if `accept` has to
    decide.
    """
    if api_version < FIRST_WITH_BATCHES or config.compression is not None:
        return None
    return check_plain(batch, config, now_ms)


def is_codec_work(batch: memoryview, api_version: int, config: LogConfig) -> bool:
    """Return whether `accept` may have to unpack or compress the batch."""
    target = config.compression
    if target is not None and target.codec:
        return True
    if len(batch) <= _BATCH_ATTRIBUTES_AT:
        return False
    has_batches = api_version >= FIRST_WITH_BATCHES or batch[MAGIC_AT] == MAGIC
    return batch[_BATCH_ATTRIBUTES_AT if has_batches else MESSAGE_ATTRIBUTES_AT] & CODEC_MASK != 0


def is_transactional(batch: bytes | memoryview) -> bool:
    """Return whether a batch belongs to a transaction. Messages before batches v2 never do."""
    has_attributes = len(batch) > _BATCH_ATTRIBUTES_AT and batch[MAGIC_AT] == MAGIC
    return has_attributes and batch[_BATCH_ATTRIBUTES_AT] & TRANSACTIONAL_FLAG != 0


def accept_within(
    allowance: Allowance, batch: memoryview, api_version: int, config: LogConfig, now_ms: int
) -> Stored | Spent:
    """Return the result of `accept`, or `SPENT` if that takes more than the allowance."""
    try:
        with allowance:
            return accept(batch, api_version, config, now_ms)
    except AllowanceSpent:
        return SPENT


class Accepted(NamedTuple):
    """The bytes to store of a batch, and the topic's configs under which they were accepted."""

    stored: Stored
    config: LogConfig


class Acceptance:
    """A batch to accept in a helper thread, under the topic's configs at the arrival of the request."""

    __slots__ = ("_api_version", "_config", "_now_ms", "data")

    def __init__(self, data: PartitionData, api_version: int, config: LogConfig, now_ms: int) -> None:
        self.data = data
        self._api_version = api_version
        self._config = config
        self._now_ms = now_ms

    def begin(self, helpers: Helpers) -> Promise[Accepted]:
        """Promise the bytes to store. `leave_frame` must have copied `data` before."""
        work = partial(accept_within, Allowance(SHORT), *self._arguments())
        stored = helpers.run(Lane.SHORT, work).flat_map(partial(self._continue, helpers))
        return stored.map(lambda stored: Accepted(stored, self._config))

    def _arguments(self) -> tuple[memoryview, int, LogConfig, int]:
        assert isinstance(self.data.records, memoryview)
        return self.data.records, self._api_version, self._config, self._now_ms

    def _continue(self, helpers: Helpers, outcome: Stored | Spent) -> Promise[Stored]:
        if outcome is SPENT:
            return helpers.run(Lane.LONG, partial(accept, *self._arguments()))
        return Promise.resolved(outcome)


def leave_frame(request: ProduceRequest, first: PartitionData) -> int:
    """Copy the batches from `first` on out of the frame, drop the earlier ones, and return the
    bytes copied.
    """
    copied = 0
    is_left = False
    for topic in request.topic_data:
        for data in topic.partition_data:
            is_left = is_left or data is first
            if not is_left or data.records is None:
                data.records = None
                continue
            data.records = memoryview(bytearray(data.records))
            copied += len(data.records)
    return copied
