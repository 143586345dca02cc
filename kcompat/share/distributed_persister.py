"""A persister that stores the state of share partitions with their coordinator, on any broker.

Each key belongs to a partition of `__share_group_state`, whose leader is the coordinator: this broker, which
is called directly, or another. A request is retried if the broker is not the coordinator, is not ready or
does not answer. The retry goes to the coordinator at that time, until the request's time is up. Kafka's
counterparts: `DefaultStatePersister` and `PersisterStateManager`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from kcompat.coordinator.partitioning import partition_for
from kcompat.peer.backoff import backoff_ms
from kcompat.peer.errors import PeerError
from kcompat.promise import Promise
from kcompat.protocol.constants import NO_LEADER
from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.protocol.messages.delete_share_group_state import DeleteShareGroupStateRequest
from kcompat.protocol.messages.initialize_share_group_state import InitializeShareGroupStateRequest
from kcompat.protocol.messages.read_share_group_state import ReadShareGroupStateRequest
from kcompat.protocol.messages.read_share_group_state_summary import ReadShareGroupStateSummaryRequest
from kcompat.protocol.messages.write_share_group_state import WriteShareGroupStateRequest
from kcompat.share.batches import StateBatch
from kcompat.share.persister import Outcome, StateRead, StateSummary
from kcompat.topics import SHARE_GROUP_STATE

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from kcompat.clock import Clock
    from kcompat.cluster.image import ImageHolder
    from kcompat.protocol.message import Message
    from kcompat.share.key import SharePartitionKey
    from kcompat.share.persister import Persister, StateWrite
    from kcompat.share.ports import PeersPort

FIRST_RETRY_MS: Final = 50
LONGEST_RETRY_MS: Final = 1000
TIME_MS: Final = 15_000
"""Milliseconds for which a request is retried."""
ANSWER_MS: Final = 10_000
"""Milliseconds that one attempt may take, more than a write takes on the coordinator."""
PURPOSE: Final = "share state"

_ELSEWHERE: Final = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    }
)
"""Errors that may disappear when the request is sent again."""


class _Answer(Protocol):
    @property
    def error(self) -> ErrorCode: ...


A = TypeVar("A", bound=_Answer)


class DistributedPersister:
    """A `Persister` that finds the coordinator of each key.

    `local` is the share coordinator of this broker. `make_topic()` creates `__share_group_state` if it is
    missing.
    """

    def __init__(
        self,
        broker_id: int,
        local: Persister,
        peers: PeersPort,
        cluster: ImageHolder,
        make_topic: Callable[[], Promise[Any]],
        clock: Clock,
        random: Random,
    ) -> None:
        self.broker_id = broker_id
        self.local = local
        self.peers = peers
        self.clock = clock
        self.random = random
        self.is_closed = False
        """Whether the broker is stopping and sends no more requests."""
        self._cluster = cluster
        self._make_topic = make_topic

    def close(self) -> None:
        """Send no further requests, because the broker stops. Requests that wait for a response are
        dropped.
        """
        self.is_closed = True

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Promise[Outcome]:
        request = InitializeShareGroupStateRequest
        row = request.PartitionData(key.partition, state_epoch, start_offset)
        topic = request.InitializeStateData(key.topic_id, [row])
        return self._seek(
            key,
            lambda local: local.initialize(key, state_epoch, start_offset),
            request(key.group_id, [topic]),
            _read_outcome,
            Outcome,
        )

    def read(self, key: SharePartitionKey, leader_epoch: int) -> Promise[StateRead]:
        request = ReadShareGroupStateRequest
        topic = request.ReadStateData(key.topic_id, [request.PartitionData(key.partition, leader_epoch)])
        return self._seek(
            key,
            lambda local: local.read(key, leader_epoch),
            request(key.group_id, [topic]),
            _read_state,
            StateRead,
        )

    def write(self, key: SharePartitionKey, write: StateWrite) -> Promise[Outcome]:
        request = WriteShareGroupStateRequest
        row = request.PartitionData(
            partition=key.partition,
            state_epoch=write.state_epoch,
            leader_epoch=write.leader_epoch,
            start_offset=write.start_offset,
            delivery_complete_count=write.delivery_complete_count,
            state_batches=[request.StateBatch(*batch) for batch in write.batches],
        )
        return self._seek(
            key,
            lambda local: local.write(key, write),
            request(key.group_id, [request.WriteStateData(key.topic_id, [row])]),
            _read_outcome,
            Outcome,
        )

    def delete(self, key: SharePartitionKey) -> Promise[Outcome]:
        request = DeleteShareGroupStateRequest
        topic = request.DeleteStateData(key.topic_id, [request.PartitionData(key.partition)])
        return self._seek(
            key,
            lambda local: local.delete(key),
            request(key.group_id, [topic]),
            _read_outcome,
            Outcome,
        )

    def summary(self, key: SharePartitionKey, leader_epoch: int) -> Promise[StateSummary]:
        request = ReadShareGroupStateSummaryRequest
        row = request.PartitionData(key.partition, leader_epoch)
        return self._seek(
            key,
            lambda local: local.summary(key, leader_epoch),
            request(key.group_id, [request.ReadStateSummaryData(key.topic_id, [row])]),
            _read_summary,
            StateSummary,
        )

    def coordinator_of(self, key: SharePartitionKey) -> int | None:
        """Return the broker id of a key's coordinator, or `NO_LEADER`; None if `__share_group_state` does not
        exist.
        """
        topic = self._cluster.image.topics.get(SHARE_GROUP_STATE)
        if topic is None:
            return None
        partition = topic.partitions.get(partition_for(key.coordinator_key, len(topic.partitions)))
        return NO_LEADER if partition is None else partition.leader

    def make_topic(self) -> Promise[Any]:
        """Create the topic `__share_group_state`."""
        return self._make_topic()

    def _seek(
        self,
        key: SharePartitionKey,
        ask_here: Callable[[Persister], Promise[A]],
        request: Message,
        parse: Callable[[Any], A],
        failed: Callable[[ErrorCode, str], A],
    ) -> Promise[A]:
        pending = _PendingRequest(self, key, ask_here, request, parse, failed)
        pending.attempt()
        return pending.promise


class _PendingRequest(Generic[A]):
    """A request that is sent until its coordinator answers or its time is up."""

    def __init__(
        self,
        persister: DistributedPersister,
        key: SharePartitionKey,
        ask_here: Callable[[Persister], Promise[A]],
        request: Message,
        parse: Callable[[Any], A],
        failed: Callable[[ErrorCode, str], A],
    ) -> None:
        self.promise: Promise[A] = Promise()
        self._persister = persister
        self._key = key
        self._ask_here = ask_here
        self._request = request
        self._parse = parse
        self._failed = failed
        self._attempts = 0
        self._deadline_ms = persister.clock.now_ms() + TIME_MS

    def attempt(self) -> None:
        """Send the request to the current coordinator."""
        persister = self._persister
        if persister.is_closed:
            return
        coordinator = persister.coordinator_of(self._key)
        if coordinator is None:
            self._unavailable()
            persister.make_topic()
        elif coordinator == persister.broker_id:
            self._ask_here(persister.local).then(self._answered, self.promise.fail)
        elif coordinator == NO_LEADER:
            self._unavailable()
        else:
            peer = persister.peers.of(coordinator, PURPOSE)
            peer.call(self._request, ANSWER_MS).map(self._parse).then(self._answered, self._lost)

    def _answered(self, answer: A) -> None:
        if answer.error in _ELSEWHERE:
            self._again(answer)
        else:
            self.promise.complete(answer)

    def _lost(self, fault: Exception) -> None:
        if isinstance(fault, PeerError):
            self._unavailable()
        else:
            self.promise.fail(fault)

    def _unavailable(self) -> None:
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE
        self._again(self._failed(error, error.message))

    def _again(self, answer: A) -> None:
        """Send the request again after a pause, or return the last response if no time is left."""
        persister = self._persister
        pause_ms = backoff_ms(self._attempts, FIRST_RETRY_MS, LONGEST_RETRY_MS, persister.random)
        self._attempts += 1
        if persister.clock.now_ms() + pause_ms >= self._deadline_ms:
            self.promise.complete(answer)
        else:
            persister.clock.call_later(pause_ms, self.attempt)


def _read_outcome(response: Any) -> Outcome:
    row = response.results[0].partitions[0]
    return Outcome(error_of(row.error_code), row.error_message)


def _read_state(response: Any) -> StateRead:
    row = response.results[0].partitions[0]
    batches = tuple(
        StateBatch(batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count)
        for batch in row.state_batches
    )
    error = error_of(row.error_code)
    return StateRead(error, row.error_message, row.state_epoch, row.start_offset, batches)


def _read_summary(response: Any) -> StateSummary:
    row = response.results[0].partitions[0]
    return StateSummary(
        error_of(row.error_code),
        row.error_message,
        row.state_epoch,
        row.leader_epoch,
        row.start_offset,
        row.delivery_complete_count,
    )
