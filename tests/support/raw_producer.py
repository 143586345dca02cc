"""A transactional producer that sends its requests over one raw connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kcompat.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kcompat.protocol.messages.end_txn import EndTxnRequest
from kcompat.protocol.messages.init_producer_id import InitProducerIdRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record

if TYPE_CHECKING:
    from support.raw_client import RawClient


class RawProducer:
    """A producer with a transactional id, which sends records to partition 0 of one topic."""

    def __init__(self, client: RawClient, name: str, topic: str = "t") -> None:
        self._client, self._name, self._topic = client, name, topic
        self._sequence = 0
        answer = client.call(InitProducerIdRequest(name, 60_000), 3)
        assert answer.error_code == 0
        self.id, self.epoch = answer.producer_id, answer.producer_epoch

    def send(self) -> int:
        """Write a record in the open transaction or a new one; return the error of the request that fails."""
        topics = [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(self._topic, [0])]
        added = self._client.call(AddPartitionsToTxnRequest([], self._name, self.id, self.epoch, topics), 3)
        error: int = added.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
        if error:
            return error
        batch = build_batch(
            [Record(0, 1, None, b"value")],
            producer_id=self.id,
            producer_epoch=self.epoch,
            base_sequence=self._sequence,
            transactional=True,
        )
        rows = [ProduceRequest.PartitionProduceData(0, memoryview(bytes(batch)))]
        request = ProduceRequest(
            self._name, -1, 5000, [ProduceRequest.TopicProduceData(self._topic, partition_data=rows)]
        )
        self._sequence += 1
        return int(self._client.call(request, 9).responses[0].partition_responses[0].error_code)

    def commit(self) -> int:
        """Commit the transaction and return the error code."""
        return self._end(commits=True)

    def abort(self) -> int:
        """Abort the transaction and return the error code."""
        return self._end(commits=False)

    def _end(self, *, commits: bool) -> int:
        return int(self._client.call(EndTxnRequest(self._name, self.id, self.epoch, commits), 3).error_code)

    def state(self) -> str:
        """Return the state of the transaction, as the coordinator describes it."""
        described = self._client.call(DescribeTransactionsRequest([self._name]), 0)
        return str(described.transaction_states[0].transaction_state)
