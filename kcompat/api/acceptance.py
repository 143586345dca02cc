"""What is stored of a produced batch: found out on the event loop, or by a helper thread where that takes
long.

What was compressed has to be unpacked to be checked, and maybe compressed again. How long that takes cannot
be told from its size: a client that wants to keep the loop busy makes 100 MB fit into 100 KB. So a request is
unpacked on the loop as far as `INLINE` goes. What is left then goes to a helper thread: first to the one that
unpacks at most `SHORT` bytes of a batch, then to the one where batches take as long as they take.
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
from kcompat.records.validate import Refusal, check_plain, check_produced

if TYPE_CHECKING:
    from kcompat.log.config import LogConfig
    from kcompat.net.helpers import Helpers
    from kcompat.records.batch import BatchHeader

INLINE = 1536 * 1024
"""What one request may have unpacked and packed on the loop, as `Allowance` counts: some milliseconds. An
ordinary batch of 1 MB is quicker done than handed over, unless it is gzip."""
INLINE_PACKED = INLINE // 2
"""A compressed batch beyond this is not tried on the loop: hardly any has less than `INLINE` inside."""
SHORT = 16 * 1024 * 1024
"""As `INLINE`, for one batch in the short lane: some ten milliseconds."""

FIRST_WITH_BATCHES = 3
PartitionData = ProduceRequest.PartitionProduceData
_BATCH_ATTRIBUTES_AT = HEADER_PLACES["attributes"].at + 1  # the lower byte of two

Stored: TypeAlias = "tuple[memoryview, BatchHeader] | Refusal | None"
"""What to store, why nothing, or None where an old client sent nothing whole."""


class Spent(Enum):
    """The type of `SPENT`."""

    SPENT = "spent"


SPENT: Final = Spent.SPENT


def accept(batch: memoryview, api_version: int, config: LogConfig, now_ms: int) -> Stored:
    """Check a batch as what the topic takes. The bytes to store may be those given or a copy."""
    if api_version < FIRST_WITH_BATCHES:
        return accept_old(batch, config, config.compression, now_ms)
    header = check_produced(batch, api_version, config, now_ms)
    if isinstance(header, Refusal):
        return header
    return conform(batch, header, config.compression, config.max_message_bytes)


def accept_plain(batch: memoryview, api_version: int, config: LogConfig, now_ms: int) -> BatchHeader | None:
    """The header of a batch that is good and stored as it came, as most are; None where it takes a closer
    look.
    """
    if api_version < FIRST_WITH_BATCHES or config.compression is not None:
        return None
    return check_plain(batch, config, now_ms)


def is_codec_work(batch: memoryview, api_version: int, config: LogConfig) -> bool:
    """Whether accepting the batch may unpack something, or compress it."""
    target = config.compression
    if target is not None and target.codec:
        return True
    if len(batch) <= _BATCH_ATTRIBUTES_AT:
        return False
    has_batches = api_version >= FIRST_WITH_BATCHES or batch[MAGIC_AT] == MAGIC
    return batch[_BATCH_ATTRIBUTES_AT if has_batches else MESSAGE_ATTRIBUTES_AT] & CODEC_MASK != 0


def is_transactional(batch: bytes | memoryview) -> bool:
    """Whether a batch says that it belongs to a transaction; those before v2 cannot."""
    has_attributes = len(batch) > _BATCH_ATTRIBUTES_AT and batch[MAGIC_AT] == MAGIC
    return has_attributes and batch[_BATCH_ATTRIBUTES_AT] & TRANSACTIONAL_FLAG != 0


def accept_within(
    allowance: Allowance, batch: memoryview, api_version: int, config: LogConfig, now_ms: int
) -> Stored | Spent:
    """As `accept`, or `SPENT` where that would take longer than the allowance says."""
    try:
        with allowance:
            return accept(batch, api_version, config, now_ms)
    except AllowanceSpent:
        return SPENT


class Accepted(NamedTuple):
    """What to store of a batch, and the settings of its topic under which that was found out."""

    stored: Stored
    config: LogConfig


class Acceptance:
    """A batch to accept in a helper thread, under the settings that its topic had when it was looked at."""

    __slots__ = ("_api_version", "_config", "_now_ms", "data")

    def __init__(self, data: PartitionData, api_version: int, config: LogConfig, now_ms: int) -> None:
        self.data = data
        self._api_version = api_version
        self._config = config
        self._now_ms = now_ms

    def begin(self, helpers: Helpers) -> Promise[Accepted]:
        """What to store, later. `data` has left its frame by now."""
        work = partial(accept_within, Allowance(SHORT), *self._question())
        stored = helpers.run(Lane.SHORT, work).flat_map(partial(self._tried, helpers))
        return stored.map(lambda stored: Accepted(stored, self._config))

    def _question(self) -> tuple[memoryview, int, LogConfig, int]:
        assert isinstance(self.data.records, memoryview)
        return self.data.records, self._api_version, self._config, self._now_ms

    def _tried(self, helpers: Helpers, outcome: Stored | Spent) -> Promise[Stored]:
        if outcome is SPENT:
            return helpers.run(Lane.LONG, partial(accept, *self._question()))
        return Promise.resolved(outcome)


def leave_frame(request: ProduceRequest, first: PartitionData) -> int:
    """Copy the batches from `first` on and forget those before; returns how many bytes were copied."""
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
