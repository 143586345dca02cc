"""Fencing of producers, and transactions that hang, at their coordinator among some brokers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from kcompat.errors import UsageError
from kcompat.instrumentation.asking import kept
from kcompat.instrumentation.faults.interventions import note
from kcompat.protocol.errors import ErrorCode
from kcompat.transaction.base import write
from kcompat.transaction.markers import Marker
from kcompat.transaction.requests import InitRequest, Producer
from kcompat.transaction.states import State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.node.broker import BrokerNode
    from kcompat.replication.partition import Partition
    from kcompat.topics import TopicPartition
    from kcompat.transaction.base import TransactionTransition
    from kcompat.transaction.coordinator import TransactionCoordinator
    from kcompat.transaction.transaction import Transaction

RETRY_S: Final = 0.02
"""Seconds between attempts while the markers of a transaction are being written."""


async def fence_producer(nodes: Sequence[BrokerNode], transactional_id: str) -> Producer:
    """Take a transactional id from its producer, as another producer does that begins to use the id; return
    the new producer id and epoch. An open transaction is aborted.

    Raises:
        UsageError: no producer uses the id.
    """
    coordinator, transaction = _find(nodes, transactional_id)
    request = InitRequest(transactional_id, transaction.timeout_ms)
    while True:
        answer = await kept(coordinator.initialize(request))
        if answer.error == ErrorCode.NONE:
            note(nodes, f"The producer of transactional id {transactional_id} was fenced")
            return answer.producer
        if answer.error != ErrorCode.CONCURRENT_TRANSACTIONS:
            raise UsageError(f"{transactional_id!r} cannot be fenced now: {answer.error.name}")
        await asyncio.sleep(RETRY_S)


class HangingTransaction:
    """An open transaction that its coordinator has forgotten, and that no timeout ends (KIP-664).

    Consumers with read_committed wait at its first record, until `end` or an administrator aborts it.
    """

    def __init__(self, nodes: Sequence[BrokerNode], transaction: Transaction, coordinator_epoch: int) -> None:
        self._nodes = nodes
        self._transaction = transaction
        self._coordinator_epoch = coordinator_epoch
        self.is_in_force = True
        """Whether `end` was not called yet."""
        description = f"The transaction of producer id {transaction.producer_id} hangs"
        self._intervention = note(nodes, description, lasts=True)

    @property
    def partitions(self) -> list[TopicPartition]:
        """Partitions in which the transaction is still open."""
        return sorted(each for each in self._transaction.partitions if self._is_open(each))

    @property
    def struck(self) -> int:
        """Number of partitions in which the transaction is open."""
        return len(self.partitions)

    def end(self) -> None:
        """Abort the transaction in each partition in which it is open, as an administrator does."""
        self.is_in_force = False
        self._intervention.end()
        left = self.partitions
        producer = Producer(self._transaction.producer_id, self._transaction.producer_epoch)
        for node in self._nodes:
            mine = tuple(each for each in left if _led(node, each) is not None)
            if mine:
                marker = Marker(producer, self._coordinator_epoch, commits=False, version=0, partitions=mine)
                node.parts.services.coordinators.markers.write(marker)

    def __str__(self) -> str:
        return f"transaction of producer {self._transaction.producer_id} hangs"

    def _is_open(self, partition: TopicPartition) -> bool:
        return any(
            producer.producer_id == self._transaction.producer_id and producer.current_txn_start_offset >= 0
            for node in self._nodes
            if (led := _led(node, partition)) is not None
            for producer in led.log.producers
        )


async def hang_transaction(nodes: Sequence[BrokerNode], transactional_id: str) -> HangingTransaction:
    """Let the coordinator forget the open transaction of an id without markers in its partitions, so that it
    hangs there.

    Raises:
        UsageError: there is no open transaction of the id.
    """
    coordinator, _ = _find(nodes, transactional_id)
    hanging: list[Transaction] = []

    def decide(transition: TransactionTransition) -> ErrorCode:
        transaction = transition.shard.transactions.get(transactional_id)
        if transaction is None or transaction.state is not State.ONGOING:
            return ErrorCode.INVALID_TXN_STATE
        hanging.append(transaction)
        forgotten = transaction.decided(False, 0, transition.now_ms).completed(transition.now_ms)
        write(transition, transactional_id, forgotten)
        return ErrorCode.NONE

    partition = coordinator.partition_of(transactional_id)
    error = await kept(coordinator.runtime.run(partition, decide, lambda error: error))
    if error:
        raise UsageError(
            f"no transaction of {transactional_id!r} is open: begin one, and send a record first"
        )
    return HangingTransaction(nodes, hanging[-1], coordinator.runtime.leader_epoch(partition))


def _find(nodes: Sequence[BrokerNode], transactional_id: str) -> tuple[TransactionCoordinator, Transaction]:
    known: list[str] = []
    for node in nodes:
        coordinator = node.parts.coordinators.transactions
        for _, shard in coordinator.runtime.active():
            transaction = shard.transactions.get(transactional_id)
            if transaction is not None:
                return coordinator, transaction
            known += [name for name, _ in shard.transactions.items()]
    hint = f"known are {', '.join(map(repr, sorted(known)))}" if known else "no producer has used one"
    raise UsageError(f"there is no transactional id {transactional_id!r}: {hint}")


def _led(node: BrokerNode, partition: TopicPartition) -> Partition | None:
    """Return a partition if the broker leads it."""
    found = node.parts.storage.replicas.get(*partition)
    return found if found is not None and found.role.leader == node.parts.cluster.broker_id else None
