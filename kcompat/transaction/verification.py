"""Requests to the coordinators of transactions to verify or add partitions (KIP-890).

The coordinator on this broker is called directly. Each other broker has one request under way at a time; the
next one carries all verifications that have come up meanwhile. Kafka's counterpart:
`AddPartitionsToTxnManager`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kcompat.log.verification import VERSION_2
from kcompat.peer.errors import PeerError, PeerFault
from kcompat.promise import Promise
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kcompat.topics import TRANSACTION_STATE, by_topic
from kcompat.transaction.requests import Producer

if TYPE_CHECKING:
    from collections.abc import Collection

    from kcompat.config.broker import ConfigFeed
    from kcompat.coordinator.ports import Claim
    from kcompat.peer.peers import ImageSource, Peers
    from kcompat.topics import TopicPartition
    from kcompat.transaction.coordinator import TransactionCoordinator
    from kcompat.transaction.requests import Errors

FIRST_BETWEEN_BROKERS: Final = 4

Request = AddPartitionsToTxnRequest


class TransactionVerifier:
    """The `Verifier` of one broker's partitions (`kcompat.coordinator.ports`), which calls the
    coordinators.
    """

    def __init__(
        self, coordinator: TransactionCoordinator, peers: Peers, cluster: ImageSource, config: ConfigFeed
    ) -> None:
        self._coordinator = coordinator
        self._peers = peers
        self._cluster = cluster
        self._config = config
        self._waiting: dict[int, dict[str, _Pending]] = {}
        self._busy: set[int] = set()

    @property
    def is_required(self) -> bool:
        return bool(self._config.current.get("transaction.partition.verification.enable"))

    def ask(self, claim: Claim, partitions: Collection[TopicPartition]) -> Promise[Errors]:
        """Add or verify partitions (`Verifier.ask`); promise errors that producers understand."""
        leader = self._leader_for(claim.transactional_id)
        if leader == self._peers.broker_id:
            return self._ask_here(claim, partitions).map(partial(_failures, claim))
        if leader not in self._cluster.image.brokers:
            return Promise.resolved(dict.fromkeys(partitions, ErrorCode.COORDINATOR_NOT_AVAILABLE))
        pending = _Pending(claim, partitions)
        self._queue(leader, pending)
        return pending.promise.map(partial(_failures, claim))

    def _leader_for(self, transactional_id: str) -> int:
        partition = self._coordinator.partition_of(transactional_id)
        known = self._cluster.image.partition(TRANSACTION_STATE, partition)
        return -1 if known is None else known.leader

    def _ask_here(self, claim: Claim, partitions: Collection[TopicPartition]) -> Promise[Errors]:
        name, producer = claim.transactional_id, Producer(claim.producer_id, claim.epoch)
        if not claim.adds:
            return Promise.resolved(self._coordinator.verify(name, producer, partitions))
        added = self._coordinator.add_partitions(name, producer, partitions, VERSION_2)
        return added.map(lambda error: dict.fromkeys(partitions, error))

    def _queue(self, broker_id: int, pending: _Pending) -> None:
        """Queue a verification for a broker. Only the newest one of a transactional id waits, as its producer
        has given up the older one.
        """
        waiting = self._waiting.setdefault(broker_id, {})
        name = pending.claim.transactional_id
        former = waiting.get(name)
        if former is not None and former.claim.epoch > pending.claim.epoch:
            pending.answer_all(ErrorCode.INVALID_PRODUCER_EPOCH)
            return
        waiting[name] = pending
        if former is not None:
            is_fenced = former.claim.epoch < pending.claim.epoch
            former.answer_all(ErrorCode.INVALID_PRODUCER_EPOCH if is_fenced else ErrorCode.NETWORK_EXCEPTION)
        self._send(broker_id)

    def _send(self, broker_id: int) -> None:
        if broker_id in self._busy:
            return
        sent = self._waiting.pop(broker_id, None)
        if not sent:
            return
        self._busy.add(broker_id)
        client = self._peers.of(broker_id, "transactions")
        timeout_ms = self._config.current.integer("request.timeout.ms")
        client.ask(ApiKey.ADD_PARTITIONS_TO_TXN, partial(_request, sent.values()), timeout_ms).then(
            partial(self._answered, broker_id, sent), partial(self._failed, broker_id, sent)
        )

    def _answered(self, broker_id: int, sent: dict[str, _Pending], response: Any) -> None:
        self._busy.discard(broker_id)
        rows = (
            {}
            if response.error_code
            else {row.transactional_id: row for row in response.results_by_transaction}
        )
        for name, pending in sent.items():
            if name in rows:
                pending.promise.complete(
                    {
                        (topic.name, row.partition_index): error_of(row.partition_error_code)
                        for topic in rows[name].topic_results
                        for row in topic.results_by_partition
                    }
                )
            else:
                refused = error_of(response.error_code) or ErrorCode.UNKNOWN_SERVER_ERROR
                is_denied = refused == ErrorCode.CLUSTER_AUTHORIZATION_FAILED  # not the client's fault
                pending.answer_all(ErrorCode.INVALID_TXN_STATE if is_denied else refused)
        self._send(broker_id)

    def _failed(self, broker_id: int, sent: dict[str, _Pending], error: Exception) -> None:
        self._busy.discard(broker_id)
        cannot_know = isinstance(error, PeerError) and error.fault is PeerFault.UNSUPPORTED
        for pending in sent.values():
            pending.answer_all(ErrorCode.NONE if cannot_know else ErrorCode.NETWORK_EXCEPTION)
        self._send(broker_id)


class _Pending:
    """A verification that one producer waits for."""

    def __init__(self, claim: Claim, partitions: Collection[TopicPartition]) -> None:
        self.claim = claim
        self.partitions = partitions
        self.promise: Promise[Errors] = Promise()

    def answer_all(self, error: ErrorCode) -> None:
        self.promise.complete(dict.fromkeys(self.partitions, error))


def _request(sent: Collection[_Pending], version: int) -> AddPartitionsToTxnRequest:
    if version < FIRST_BETWEEN_BROKERS:
        raise PeerError(PeerFault.UNSUPPORTED, "the transaction coordinator")
    return Request(
        transactions=[
            Request.AddPartitionsToTxnTransaction(
                pending.claim.transactional_id,
                pending.claim.producer_id,
                pending.claim.epoch,
                not pending.claim.adds,
                [
                    Request.AddPartitionsToTxnTopic(topic, indexes)
                    for topic, indexes in by_topic(pending.partitions)
                ],
            )
            for pending in sent
        ]
    )


def _failures(claim: Claim, errors: Errors) -> Errors:
    """Return the errors of the partitions that have one, in codes that the client's version knows."""
    return {each: _known(claim, error) for each, error in errors.items() if error}


def _known(claim: Claim, error: ErrorCode) -> ErrorCode:
    if error == ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error == ErrorCode.TRANSACTION_ABORTABLE and not (claim.adds or claim.knows_abortable):
        return ErrorCode.INVALID_TXN_STATE
    return error
