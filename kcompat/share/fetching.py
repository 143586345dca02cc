"""A fetch over several share partitions that may wait for records (Kafka's `DelayedShareFetch`).

Records are acquired for the member as soon as they are read, partition by partition, so that they are not
read for two members. The fetch waits for a partition that is loading, or has reached its limit of records in
flight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from kcompat.log.files import FileRange
from kcompat.protocol.errors import ErrorCode
from kcompat.replication.errors import FAULTS, storage_error
from kcompat.replication.reading import FetchSpec, PartitionReader
from kcompat.share.leading import DONE, LedSharePartition
from kcompat.share.partition.acquisition import Acquired, AcquisitionSpec
from kcompat.share.persister import Outcome
from kcompat.share.reading import ReadBatches

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from kcompat.replication.reading import Fetched
    from kcompat.share.partition.limits import AcquireMode
    from kcompat.share.sessions import TopicIdPartition


class ShareFetchSpec(Struct, frozen=True):
    """The limits of a member's ShareFetch."""

    member_id: str
    min_bytes: int
    max_bytes: int
    max_records: int
    batch_size: int
    mode: AcquireMode


class Handed(NamedTuple):
    """The records of one partition that are sent to a member."""

    outcome: Outcome = DONE
    records: memoryview | bytes = b""
    acquired: Sequence[Acquired] = ()


Results = list[tuple["TopicIdPartition", Handed]]

Target = tuple["TopicIdPartition", "LedSharePartition | Outcome"]


class ShareFetch:
    """Waiter that reads share partitions in order and waits until `min_bytes` are available.

    If the client no longer waits for the response, no records are acquired. They would be locked for a member
    that never receives them, and use up one of their deliveries.
    """

    def __init__(
        self,
        targets: Sequence[Target],
        spec: ShareFetchSpec,
        isolation_level: int,
        is_awaited: Callable[[], bool],
    ) -> None:
        """`targets` has the led share partition for each requested partition, or the error to return for it.

        `is_awaited()` returns whether the member's session is still at the epoch of this request.
        """
        self._targets = targets
        self._spec = spec
        self._reader = PartitionReader(isolation_level)
        self._is_awaited = is_awaited

    @property
    def keys(self) -> list[Hashable]:
        """Keys to wait on: share partitions for released records, and partitions for new records."""
        led = [target for _, target in self._targets if isinstance(target, LedSharePartition)]
        return [*led, *(each.partition for each in led)]

    def try_complete(self, _key: Hashable = None) -> Results | None:
        """Acquire the available records if they reach `min_bytes`, or if there is an error to return."""
        if not self._is_awaited():
            return []
        spec = self._spec
        usable = [target for _, target in self._targets if _is_usable(target)]
        if not usable or spec.max_records <= 0 or spec.max_bytes <= 0:
            return self._results({})
        read = self._read()
        size = sum(len(fetched.records) for fetched in read.values())
        if read and (size >= spec.min_bytes or any(fetched.error for fetched in read.values())):
            return self._results(read)
        return None

    def expire(self) -> Results:
        """Acquire all available records, however few."""
        return self._results(self._read()) if self._is_awaited() else []

    def _read(self) -> dict[LedSharePartition, Fetched]:
        """Read records that can be acquired. The bytes are divided evenly among the partitions."""
        ready = [
            target
            for _, target in self._targets
            if isinstance(target, LedSharePartition) and _is_usable(target) and _can_acquire(target)
        ]
        read: dict[LedSharePartition, Fetched] = {}
        for led in ready:
            machine = led.machine
            assert machine is not None
            share = max(self._spec.max_bytes // len(ready), 1)
            spec = FetchSpec(machine.next_fetch_offset, share)
            read[led] = led.partition.fetch(spec, self._reader, share, min_one_batch=True)
        return read

    def _results(self, read: dict[LedSharePartition, Fetched]) -> Results:
        results: Results = []
        left = self._spec.max_records
        for key, target in self._targets:
            if not isinstance(target, LedSharePartition):
                results.append((key, Handed(target)))
            elif target.refusal is not None:
                results.append((key, Handed(target.refusal)))
            elif target in read:
                handed = self._hand_over(target, read[target], left)
                left -= sum(each.last_offset - each.first_offset + 1 for each in handed.acquired)
                results.append((key, handed))
        return results

    def _hand_over(self, led: LedSharePartition, fetched: Fetched, max_records: int) -> Handed:
        """Acquire the records that were read from one partition."""
        if fetched.error == ErrorCode.OFFSET_OUT_OF_RANGE:  # the log start has moved; the member retries
            led.log_starts_at(led.partition.log.log_start_offset)
            return Handed()
        if fetched.error:
            return Handed(Outcome(fetched.error, fetched.error.message))
        machine, spec = led.machine, self._spec
        assert machine is not None
        data = fetched.records
        if not isinstance(data, FileRange) or max_records <= 0:
            return Handed()
        log = led.partition.log
        try:
            with log.context.faults():
                read = ReadBatches(data.read())
        except FAULTS as fault:
            error = storage_error(fault, log)
            return Handed(Outcome(error, error.message))
        bounds = AcquisitionSpec(
            spec.member_id, machine.next_fetch_offset, max_records, spec.batch_size, spec.mode
        )
        acquired = led.acquire(bounds, read, fetched.aborted or ())
        if not acquired:
            return Handed()
        records = read.slice(acquired[0].first_offset, acquired[-1].last_offset)
        return Handed(DONE, records, acquired)


def _is_usable(target: LedSharePartition | Outcome) -> bool:
    return isinstance(target, LedSharePartition) and target.check() is None


def _can_acquire(led: LedSharePartition) -> bool:
    machine = led.machine
    return machine is not None and machine.can_acquire(led.limits)
