"""Verification of the batches of a transaction before they are appended (KIP-890).

The transaction's coordinator has to know that a partition is part of the transaction before the first batch
is appended there. One request to it covers all partitions of a Produce. Kafka's counterpart:
`ReplicaManager.handleProduceAppend`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.api.produce.acceptance import is_transactional
from kcompat.coordinator.ports import Claim
from kcompat.log.append import BY_CLIENT, WITHOUT_PROOF, AppendTerms
from kcompat.log.verification import VerificationGuard
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.produce import ProduceRequest, ProduceResponse
from kcompat.records.batch import read_header
from kcompat.records.layout import HEADER_SIZE
from kcompat.replication.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcompat.api.context import RequestContext
    from kcompat.records.batch import BatchHeader
    from kcompat.topics import TopicPartition

FIRST_WITH_ABORTABLE: Final = 11
FIRST_THAT_ADDS: Final = 12

PAUSE_MS: Final = 20
PATIENCE_MS: Final = 100
"""Pause in ms between two attempts to add partitions while the producer's last transaction is ending, and
time in ms after which no further attempt is made. They are the defaults of Kafka 4's
`add.partitions.to.txn.retry.backoff.ms` and `.max.ms`.
"""

UNABLE: Final = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    }
)
"""Errors of the coordinator that are answered as NOT_ENOUGH_REPLICAS, which all clients retry without a
metadata request.
"""

PartitionAnswer = ProduceResponse.PartitionProduceResponse
Writable = tuple[str, ProduceRequest.PartitionProduceData]
"""A partition of a request that may be written, preceded by the name of its topic."""


class VerifiedPartitions(Struct):
    """The outcome of the verification of a request: an error or the terms of the append, by partition."""

    adds: bool
    """Whether the request adds partitions to the transaction (versions from 12 on)."""
    errors: dict[TopicPartition, ErrorCode] = {}
    terms: dict[TopicPartition, AppendTerms] = {}

    def refusal(self, topic: str, index: int) -> PartitionAnswer | None:
        """Return the response for a partition that is not in the transaction, or None if it is."""
        error = self.errors.get((topic, index))
        if error is None:
            return None
        if error == ErrorCode.INVALID_TXN_STATE:
            return PartitionAnswer(
                index, error, -1, error_message="Partition was not added to the transaction"
            )
        if error not in UNABLE or (self.adds and error == ErrorCode.CONCURRENT_TRANSACTIONS):
            return PartitionAnswer(index, error, -1)
        said = "Unable to verify the partition has been added to the transaction. Underlying error: "
        return PartitionAnswer(index, ErrorCode.NOT_ENOUGH_REPLICAS, -1, error_message=said + error.name)

    def terms_of(self, topic: str, index: int) -> AppendTerms:
        """Return the terms by which the log checks the batch of a partition."""
        return self.terms.get((topic, index), BY_CLIENT)


def has_transactional(request: ProduceRequest) -> bool:
    """Return whether any batch of the request belongs to a transaction."""
    for topic in request.topic_data:
        for data in topic.partition_data:
            records = data.records
            if records is not None and is_transactional(records):
                return True
    return False


def verify(
    context: RequestContext, transactional_id: str, partitions: Iterable[Writable]
) -> Promise[VerifiedPartitions] | ErrorCode:
    """Have the coordinator verify the partitions of a transaction that are not verified yet.

    Returns INVALID_PRODUCER_ID_MAPPING if the batches belong to more than one producer.
    """
    headers = dict(_headers(partitions))
    producers = {(header.producer_id, header.producer_epoch) for header in headers.values()}
    if len(producers) > 1:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    version, verifier = context.api_version, context.services.coordinators.verifier
    adds = version >= FIRST_THAT_ADDS
    if not producers or not (adds or verifier.is_required):
        return Promise.resolved(VerifiedPartitions(adds, {}, dict.fromkeys(headers, WITHOUT_PROOF)))
    ((producer_id, epoch),) = producers
    claim = Claim(transactional_id, producer_id, epoch, adds, version >= FIRST_WITH_ABORTABLE)
    return _Attempts(context, claim, headers).begin()


def _headers(partitions: Iterable[Writable]) -> Iterator[tuple[TopicPartition, BatchHeader]]:
    for topic, data in partitions:
        records = data.records
        if records is not None and is_transactional(records) and len(records) >= HEADER_SIZE:
            yield (topic, data.index), read_header(records)


class _Attempts:
    """The attempts to verify the partitions of one request.

    If partitions are added, the producer's last transaction may still be ending. Attempts are then repeated
    for `PATIENCE_MS`, which is faster than to have the client send everything again.
    """

    def __init__(
        self, context: RequestContext, claim: Claim, headers: dict[TopicPartition, BatchHeader]
    ) -> None:
        self._context = context
        self._claim = claim
        self._headers = headers
        self._promise: Promise[VerifiedPartitions] = Promise()
        self._until_ms = context.now_ms + PATIENCE_MS

    def begin(self) -> Promise[VerifiedPartitions]:
        self._attempt()
        return self._promise

    def _attempt(self) -> None:
        verified = VerifiedPartitions(self._claim.adds, {}, {})
        services, claim = self._context.services, self._claim
        now_ms = services.server.clock.now_ms()
        for place, header in self._headers.items():
            partition = services.storage.replicas.find(*place)
            if not isinstance(partition, Partition):
                continue  # the append refuses the partition
            proof = partition.begin_verification(
                claim.producer_id, claim.epoch, header.base_sequence, now_ms, adds=claim.adds
            )
            if isinstance(proof, VerificationGuard):
                verified.terms[place] = AppendTerms(proof=proof)
            elif proof:
                verified.errors[place] = proof
        if verified.terms:
            services.coordinators.verifier.ask(claim, list(verified.terms)).then(
                partial(self._answered, verified), self._promise.fail
            )
        else:
            self._promise.complete(verified)

    def _answered(self, verified: VerifiedPartitions, errors: dict[TopicPartition, ErrorCode]) -> None:
        clock = self._context.services.server.clock
        is_ending = self._claim.adds and ErrorCode.CONCURRENT_TRANSACTIONS in errors.values()
        if is_ending and clock.now_ms() < self._until_ms:
            clock.call_later(PAUSE_MS, self._attempt)
            return
        verified.errors |= errors
        self._promise.complete(verified)
