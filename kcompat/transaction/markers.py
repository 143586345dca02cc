"""Transaction markers to be written, in a queue for each broker with at most one request under way.

A marker that a broker did not write is sent again, to the partition's leader at that time. Requests leave in
the next iteration of the event loop: the producer that ended the transaction is answered first, and the
markers of all transactions that ended in one iteration share a request. Kafka's counterparts:
`TransactionMarkerChannelManager` and `TransactionMarkerRequestCompletionHandler`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from kcompat.faults import contained
from kcompat.protocol.errors import ErrorCode
from kcompat.transaction.requests import Producer
from kcompat.transaction.states import State

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.clock import Clock
    from kcompat.promise import Promise
    from kcompat.topics import TopicPartition
    from kcompat.transaction.requests import Errors
    from kcompat.transaction.transaction import Transaction

RETRY_MS: Final = 100
"""Milliseconds before a marker that was not written is sent again."""

WRITTEN: Final = frozenset(
    {ErrorCode.NONE, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION}
)
"""Errors after which no marker is sent: the partition has the marker, or cannot store one."""

SUPERSEDED: Final = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED})
"""Errors that mean that another broker coordinates the id, and completes the transaction."""


class Marker(Struct, frozen=True):
    """The end of one transaction, and the partitions to which its marker has to be written."""

    producer: Producer
    coordinator_epoch: int
    commits: bool
    version: int
    """The `transaction.version` of the producer."""
    partitions: tuple[TopicPartition, ...]


class MarkerPorts(Protocol):
    """The port through which markers reach the leaders of partitions."""

    def leader_of(self, partition: TopicPartition) -> int | None:
        """Return the id of the broker that leads a partition; -1 if it has no leader, None if it does not
        exist.
        """

    def write(self, broker_id: int, markers: Sequence[Marker]) -> Promise[list[Errors]]:
        """Have a broker write markers; promise the error of each partition, for each marker.

        The promise fails if the broker cannot be reached.
        """


class _Left:
    """The unwritten markers of one transaction."""

    def __init__(self, partition: int, name: str, marker: Marker, done: Callable[[], object]) -> None:
        self.partition = partition
        self.name = name
        self.marker = marker
        self.done = done
        self.unwritten = set(marker.partitions)


class Markers:
    """The queues of markers that one broker, as transaction coordinator, has other brokers write."""

    def __init__(self, ports: MarkerPorts, clock: Clock) -> None:
        self._ports = ports
        self._clock = clock
        self._left: dict[str, _Left] = {}
        self._fresh: dict[str, _Left] = {}
        """Transactions none of whose markers has been sent yet, by transactional id."""
        self._waiting: dict[int, dict[_Left, list[TopicPartition]]] = {}
        self._under_way: set[int] = set()

    def __len__(self) -> int:
        return len(self._left)

    def begin(
        self,
        partition: int,
        coordinator_epoch: int,
        name: str,
        transaction: Transaction,
        done: Callable[[], object],
    ) -> None:
        """Begin to have the markers of a decided transaction written; call `done()` once all are written.

        `partition` is the partition of `__transaction_state` that keeps the id. Earlier markers of the id are
        forgotten.
        """
        marker = Marker(
            Producer(transaction.producer_id, transaction.producer_epoch),
            coordinator_epoch,
            transaction.state is State.PREPARE_COMMIT,
            transaction.client_version,
            tuple(sorted(transaction.partitions)),
        )
        if not self._fresh:
            self._clock.call_soon(self._set_out)
        self._left[name] = self._fresh[name] = _Left(partition, name, marker, done)

    def hurry(self, name: str) -> None:
        """Send the markers of an id now, because a request waits for the transaction."""
        if name in self._fresh:
            self._set_out()

    def forget(self, partition: int) -> None:
        """Forget the markers of all ids in a partition that is unloaded, or loaded again."""
        for name in [name for name, left in self._left.items() if left.partition == partition]:
            del self._left[name]

    def close(self) -> None:
        """Forget all markers: the broker stops."""
        self._left.clear()

    def _set_out(self) -> None:
        fresh = [left for left in self._fresh.values() if self._is_mine(left)]
        self._fresh.clear()
        for left in fresh:
            self._queue(left, left.marker.partitions)
        self._flush_all()
        for left in fresh:
            self._finish_if_written(left)

    def _queue(self, left: _Left, partitions: Sequence[TopicPartition]) -> None:
        """Queue a marker for each partition's leader; a deleted partition needs no marker."""
        without_leader: list[TopicPartition] = []
        for each in partitions:
            leader = self._ports.leader_of(each)
            if leader is None:
                left.unwritten.discard(each)
            elif leader < 0:
                without_leader.append(each)
            else:
                self._waiting.setdefault(leader, {}).setdefault(left, []).append(each)
        if without_leader:
            self._send_later(left, without_leader)

    def _flush_all(self) -> None:
        for broker_id in list(self._waiting):
            self._flush(broker_id)

    def _send_later(self, left: _Left, partitions: Sequence[TopicPartition]) -> None:
        def again() -> None:
            if self._is_mine(left):
                self._queue(left, partitions)
                self._flush_all()
                self._finish_if_written(left)

        self._clock.call_later(RETRY_MS, again)

    def _flush(self, broker_id: int) -> None:
        """Send all waiting markers to a broker, unless a request to it is under way."""
        if broker_id in self._under_way:
            return
        waiting = {
            left: partitions
            for left, partitions in self._waiting.pop(broker_id, {}).items()
            if self._is_mine(left)
        }
        if not waiting:
            return
        self._under_way.add(broker_id)
        markers = [replace(left.marker, partitions=tuple(partitions)) for left, partitions in waiting.items()]
        self._ports.write(broker_id, markers).then(
            partial(self._answered, broker_id, waiting), lambda _: self._failed(broker_id, waiting)
        )

    def _answered(
        self, broker_id: int, sent: dict[_Left, list[TopicPartition]], answers: list[Errors]
    ) -> None:
        self._under_way.discard(broker_id)
        for (left, partitions), errors in zip(sent.items(), answers, strict=True):
            if self._is_mine(left):
                self._take(left, partitions, errors)
        self._flush(broker_id)

    def _failed(self, broker_id: int, sent: dict[_Left, list[TopicPartition]]) -> None:
        self._under_way.discard(broker_id)
        for left, partitions in sent.items():
            self._send_later(left, partitions)
        self._flush(broker_id)

    def _take(self, left: _Left, partitions: Sequence[TopicPartition], errors: Errors) -> None:
        again: list[TopicPartition] = []
        for each in partitions:
            error = errors.get(each, ErrorCode.UNKNOWN_SERVER_ERROR)
            if error in SUPERSEDED:
                del self._left[left.name]
                return
            if error in WRITTEN:
                left.unwritten.discard(each)
            else:
                again.append(each)
        if again:
            self._send_later(left, again)
        self._finish_if_written(left)

    def _finish_if_written(self, left: _Left) -> None:
        if not left.unwritten and self._is_mine(left):
            del self._left[left.name]
            with contained("a callback after the last marker"):
                left.done()

    def _is_mine(self, left: _Left) -> bool:
        return self._left.get(left.name) is left
