"""What becomes of the batches of a transaction before they are appended (KIP-890).

The first batch of a transaction in a partition has to be known to the transaction's coordinator, which is
asked for all partitions of a request together. Kafka's counterpart: `ReplicaManager.handleProduceAppend`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.api.acceptance import is_transactional
from kcompat.coordinator.claim import Claim
from kcompat.log.verification import BY_CLIENT, WITHOUT_PROOF, AppendTerms, Verification
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
"""How long a partition is asked to be added while the transaction before is ending, and what lies between two
attempts: the defaults of Kafka 4's `add.partitions.to.txn.retry.backoff.ms` and `.max.ms`."""

UNABLE: Final = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    }
)
"""Told as NOT_ENOUGH_REPLICAS, which all clients retry without asking for metadata first."""

PartitionAnswer = ProduceResponse.PartitionProduceResponse
Asked = tuple[str, ProduceRequest.PartitionProduceData]
"""A partition of a request that may be written, with the name of its topic."""


class Claimed(Struct):
    """What is known of the partitions of a request."""

    adds: bool
    errors: dict[TopicPartition, ErrorCode] = {}
    terms: dict[TopicPartition, AppendTerms] = {}

    def refusal(self, topic: str, index: int) -> PartitionAnswer | None:
        """The answer for a partition that is not in the transaction."""
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
        """What its batch is checked by."""
        return self.terms.get((topic, index), BY_CLIENT)


def has_transactional(request: ProduceRequest) -> bool:
    """Whether any batch says that it belongs to a transaction."""
    for topic in request.topic_data:
        for data in topic.partition_data:
            records = data.records
            if records is not None and is_transactional(records):
                return True
    return False


def claim(
    context: RequestContext, transactional_id: str, asked: Iterable[Asked]
) -> Promise[Claimed] | ErrorCode:
    """Begin what has to be verified and have it verified. INVALID_PRODUCER_ID_MAPPING where the batches are
    of more than one producer.
    """
    headers = dict(_headers(asked))
    producers = {(header.producer_id, header.producer_epoch) for header in headers.values()}
    if len(producers) > 1:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    version, verifier = context.api_version, context.services.coordinators.verifier
    adds = version >= FIRST_THAT_ADDS
    if not producers or not (adds or verifier.is_required):
        return Promise.resolved(Claimed(adds, {}, dict.fromkeys(headers, WITHOUT_PROOF)))
    ((producer_id, epoch),) = producers
    claim = Claim(transactional_id, producer_id, epoch, adds, version >= FIRST_WITH_ABORTABLE)
    return _Asking(context, claim, headers).begin()


def _headers(asked: Iterable[Asked]) -> Iterator[tuple[TopicPartition, BatchHeader]]:
    for topic, data in asked:
        records = data.records
        if records is not None and is_transactional(records) and len(records) >= HEADER_SIZE:
            yield (topic, data.index), read_header(records)


class _Asking:
    """One request that waits for the coordinator. Where partitions are added, the transaction before may
    still be ending, and it is asked again for a moment: that is quicker than to have the client send all
    again.
    """

    def __init__(
        self, context: RequestContext, claim: Claim, headers: dict[TopicPartition, BatchHeader]
    ) -> None:
        self._context = context
        self._claim = claim
        self._headers = headers
        self._promise: Promise[Claimed] = Promise()
        self._until_ms = context.now_ms + PATIENCE_MS

    def begin(self) -> Promise[Claimed]:
        self._ask()
        return self._promise

    def _ask(self) -> None:
        claimed = Claimed(self._claim.adds, {}, {})
        services, claim = self._context.services, self._claim
        now_ms = services.server.clock.now_ms()
        for place, header in self._headers.items():
            partition = services.storage.replicas.find(*place)
            if not isinstance(partition, Partition):
                continue  # and is refused for that
            proof = partition.begin_verification(
                claim.producer_id, claim.epoch, header.base_sequence, now_ms, adds=claim.adds
            )
            if isinstance(proof, Verification):
                claimed.terms[place] = AppendTerms(proof=proof)
            elif proof:
                claimed.errors[place] = proof
        if claimed.terms:
            services.coordinators.verifier.ask(claim, list(claimed.terms)).then(
                partial(self._answered, claimed), self._promise.fail
            )
        else:
            self._promise.complete(claimed)

    def _answered(self, claimed: Claimed, errors: dict[TopicPartition, ErrorCode]) -> None:
        clock = self._context.services.server.clock
        is_ending = self._claim.adds and ErrorCode.CONCURRENT_TRANSACTIONS in errors.values()
        if is_ending and clock.now_ms() < self._until_ms:
            clock.call_later(PAUSE_MS, self._ask)
            return
        claimed.errors |= errors
        self._promise.complete(claimed)
