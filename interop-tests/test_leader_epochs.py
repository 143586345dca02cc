"""Where epochs of leaders end: kcompat and real Kafkas answer alike, in each life of their broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.delete_records import DeleteRecordsRequest
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from real_kafka import RealKafka
from support.eventually import eventually
from support.kcompat_broker import KcompatBroker
from support.raw_client import RawClient

if TYPE_CHECKING:
    from kcompat.protocol.message import Message
    from support.broker_process import BrokerProcess

pytestmark = [
    pytest.mark.timeout(300),  # several starts of a Kafka, one after another
    pytest.mark.thorough("the unit tests of the epoch cache have the answers of Kafka"),
]

KEPT, COMPACTED = "kept", "compacted"
EARLIEST, LATEST = -2, -1
COMPACTING = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0",
    "segment.ms": "1",
    "min.compaction.lag.ms": "0",
}
QUICK_CLEANER = {"log.cleaner.backoff.ms": "50", "log.retention.ms": "-1"}
"""Set on both: records of the year 1970 are compacted and otherwise stay."""

Answers = list[tuple[Any, ...]]


class Told:
    """Answers of a broker about a topic's partition 0.

    Epochs are numbered by the lives of the broker, as some brokers go on by more than one each time: the
    leader epoch of life 1 is 1, and so on.
    """

    def __init__(self, broker: BrokerProcess, topic: str) -> None:
        self._broker = broker
        self._topic = topic
        self._epochs: list[int] = []
        self.answers: Answers = []

    def live_again(self) -> None:
        """Stop the broker and start it again. A Kafka that is killed may forget that records were deleted,
        and one alone with ZooKeeper leads in the same epoch again.
        """
        self._broker.stop()
        self._broker.start()

    def begin_life(self) -> None:
        """Wait until the partition is led, in a newer epoch than before. A Kafka of KRaft says so before its
        log is ready.
        """
        newest = max(self._epochs, default=-1)
        eventually(lambda: self._leader_epoch() > newest, f"{self._topic} is led again")
        eventually(lambda: not self._list(LATEST).error_code, f"the leader of {self._topic} is ready")
        self._epochs.append(self._leader_epoch())

    def _leader_epoch(self) -> int:
        topics = [MetadataRequest.MetadataRequestTopic(name=self._topic)]
        (topic,) = self._ask(MetadataRequest(topics=topics), 9).topics
        led = [each.leader_epoch for each in topic.partitions if each.leader_id >= 0 and not each.error_code]
        return led[0] if led else -1

    def _ask(self, request: Message, version: int) -> Any:
        with RawClient(("127.0.0.1", self._broker.port)) as client:
            return client.call(request, version)

    def create(self, configs: dict[str, str]) -> None:
        config = [CreateTopicsRequest.CreatableTopicConfig(*pair) for pair in configs.items()]
        topic = CreateTopicsRequest.CreatableTopic(self._topic, 1, 1, [], config)
        (created,) = self._ask(CreateTopicsRequest([topic], 30_000), 5).topics
        assert created.error_code == 0

    def produce(self, *values: bytes) -> None:
        """Write records of one key, each in a batch of its own."""
        for value in values:
            batch = build_batch([Record(0, 1000, b"key", value)])
            part = ProduceRequest.PartitionProduceData(0, memoryview(batch))
            topic = ProduceRequest.TopicProduceData(name=self._topic, partition_data=[part])
            answer = self._ask(ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[topic]), 8)
            assert answer.responses[0].partition_responses[0].error_code == 0

    def delete_before(self, offset: int) -> None:
        part = DeleteRecordsRequest.DeleteRecordsPartition(0, offset)
        topic = DeleteRecordsRequest.DeleteRecordsTopic(self._topic, [part])
        (deleted,) = self._ask(DeleteRecordsRequest([topic], 10_000), 2).topics
        assert deleted.partitions[0].error_code == 0

    def listed(self, timestamp: int) -> tuple[int, int]:
        """Return the offset that ListOffsets answers, and its epoch."""
        answer = self._list(timestamp)
        assert answer.error_code == 0
        return answer.offset, self._named(answer.leader_epoch)

    def _list(self, timestamp: int) -> Any:
        part = ListOffsetsRequest.ListOffsetsPartition(0, -1, timestamp)
        topic = ListOffsetsRequest.ListOffsetsTopic(self._topic, [part])
        return self._ask(ListOffsetsRequest(-1, 0, [topic]), 7).topics[0].partitions[0]

    def _ended(self, epoch: int) -> tuple[int, int]:
        """Return what OffsetForLeaderEpoch answers: an epoch and where that ends."""
        part = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(0, -1, epoch)
        topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic(self._topic, [part])
        answer = self._ask(OffsetForLeaderEpochRequest(-1, [topic]), 4).topics[0].partitions[0]
        assert answer.error_code == 0
        return self._named(answer.leader_epoch), answer.end_offset

    def _named(self, epoch: int) -> int:
        return epoch if epoch < 0 else 1 + self._epochs.index(epoch)

    def look(self, what: str) -> None:
        """Note where the log starts and ends, and where each epoch so far ended, and one that is to come."""
        ends = [self._ended(epoch) for epoch in self._epochs]
        unknown = self._ended(self._epochs[-1] + 1), self._ended(-1)
        self.answers.append((what, self.listed(EARLIEST), self.listed(LATEST), ends, unknown))


def tell_of_records(told: Told) -> None:
    """Epochs without a record, with some, and whose records are deleted."""
    told.create({})
    told.begin_life()
    told.look("empty")
    told.live_again()
    told.begin_life()
    told.look("empty in life 2")
    told.produce(b"a", b"b", b"c")
    told.look("three records of life 2")
    told.live_again()
    told.begin_life()
    told.look("none of life 3")
    told.live_again()
    told.begin_life()
    told.produce(b"d", b"e")
    told.look("two records of life 4")
    told.delete_before(1)
    told.look("one is deleted")
    told.delete_before(4)
    told.look("all of life 2 are deleted")
    told.delete_before(5)
    told.look("all are deleted")
    told.live_again()
    told.begin_life()
    told.look("none of life 5")
    told.produce(b"f")
    told.look("one record of life 5")


def tell_of_compaction(told: Told) -> None:
    """An epoch of whose records none is left."""
    told.create(COMPACTING)
    told.begin_life()
    told.produce(b"a", b"b")
    told.live_again()
    told.begin_life()
    told.produce(b"c", b"d", b"e")
    told.live_again()
    told.begin_life()
    told.produce(b"f")
    told.look("compacted, or about to be")


STORIES = {KEPT: tell_of_records, COMPACTED: tell_of_compaction}


def answers_of(broker: BrokerProcess) -> dict[str, Answers]:
    """Return what a broker answers in each story."""
    found = {}
    with broker:
        for topic, tell in STORIES.items():
            told = Told(broker, topic)
            tell(told)
            found[topic] = told.answers
    return found


@pytest.fixture(scope="module")
def ours() -> dict[str, Answers]:
    return answers_of(KcompatBroker(QUICK_CLEANER))


@pytest.mark.parametrize("version", ["3.9.2", "4.3.0"])
def test_epochs_end_where_those_of_kafka_end(ours: dict[str, Answers], version: str) -> None:
    assert ours == answers_of(RealKafka(version, QUICK_CLEANER))
