"""One of two log directories fails: the other serves, everybody is told, nothing is lost when it is back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat import Broker
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kcompat.protocol.messages.describe_producers import DescribeProducersRequest
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest
from kcompat.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.eventually import Patience
from support.raw_client import RawClient
from support.raw_requests import (
    create_topic,
    delete_records,
    describe_topic,
    fetch_request,
    produce,
    read_all,
)

if TYPE_CHECKING:
    from pathlib import Path

FAILED = ErrorCode.KAFKA_STORAGE_ERROR
SMALL = {"segment.bytes": "200"}
"""A batch a segment, so that every append makes a file."""
ALL_FAILED = {
    "Fetch 3": ErrorCode.NOT_LEADER_OR_FOLLOWER,
    "Fetch 5": ErrorCode.NOT_LEADER_OR_FOLLOWER,
    "Fetch 6": FAILED,
    "Fetch 12": FAILED,
    "ListOffsets 0": FAILED,
    "ListOffsets 7": FAILED,
    "OffsetForLeaderEpoch": FAILED,
    "DescribeProducers": FAILED,
    "DeleteRecords": FAILED,
}
ALL_WELL = dict.fromkeys(ALL_FAILED, 0)


def broker_on(*directories: Path) -> Broker:
    config = {
        "log.dirs": ",".join(map(str, directories)),
        "replica.high.watermark.checkpoint.interval.ms": "50",
    }
    return Broker(config=config)


def client_of(broker: Broker) -> RawClient:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    return RawClient((host, int(port)))


def append(client: RawClient) -> list[int]:
    """The errors of appending a record to each of the four partitions."""
    batch = build_batch([Record(0, 1, None, b"v" * 50)])
    return [produce(client, "t", batch, partition).error_code for partition in range(4)]


def errors_of_all(client: RawClient, partition: int) -> dict[str, int]:
    """The errors of all requests that look for a partition where it should be led, by name and version."""
    offset = ListOffsetsRequest.ListOffsetsPartition(
        partition_index=partition, timestamp=-1, max_num_offsets=1
    )
    offsets = ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsRequest.ListOffsetsTopic(name="t", partitions=[offset])]
    )
    epoch = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(partition=partition, leader_epoch=0)
    epochs = OffsetForLeaderEpochRequest(
        replica_id=-1,
        topics=[OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic="t", partitions=[epoch])],
    )
    producers = DescribeProducersRequest(
        topics=[DescribeProducersRequest.TopicRequest(name="t", partition_indexes=[partition])]
    )
    fetches = {
        f"Fetch {version}": client.call(fetch_request("t", 0, partition), version).responses[0].partitions[0]
        for version in (3, 5, 6, 12)
    }
    answers = fetches | {
        "ListOffsets 0": client.call(offsets, 0).topics[0].partitions[0],
        "ListOffsets 7": client.call(offsets, 7).topics[0].partitions[0],
        "OffsetForLeaderEpoch": client.call(epochs, 3).topics[0].partitions[0],
        "DescribeProducers": client.call(producers, 0).topics[0].partitions[0],
        "DeleteRecords": delete_records(client, "t", 0, partition),
    }
    return {name: answer.error_code for name, answer in answers.items()}


def directories_of(client: RawClient) -> dict[str, tuple[int, list[int]]]:
    """For each directory its error and the partitions of the topic in it."""
    answer = client.call(DescribeLogDirsRequest(topics=None), 2)
    return {
        result.log_dir.rpartition("/")[2]: (
            result.error_code,
            sorted(part.partition_index for topic in result.topics for part in topic.partitions),
        )
        for result in answer.results
    }


def leaders(client: RawClient) -> list[tuple[int, list[int]]]:
    """For each partition its error and its offline replicas."""
    partitions = sorted(describe_topic(client, "t").partitions, key=lambda part: int(part.partition_index))
    return [(part.error_code, part.offline_replicas) for part in partitions]


def test_the_others_serve(tmp_path: Path) -> None:
    good, bad, elsewhere = tmp_path / "good", tmp_path / "bad", tmp_path / "elsewhere"
    gone = (ErrorCode.LEADER_NOT_AVAILABLE, [1])
    with broker_on(good, bad) as broker, client_of(broker) as client:
        create_topic(client, "t", partitions=4, configs=SMALL)
        assert append(client) == [0, 0, 0, 0]
        assert directories_of(client) == {"good": (0, [0, 2]), "bad": (0, [1, 3])}
        bad.rename(elsewhere)
        assert append(client) == [0, FAILED, 0, FAILED]
        assert directories_of(client) == {"good": (0, [0, 2]), "bad": (FAILED, [])}
        assert [errors_of_all(client, partition) for partition in (0, 1)] == [ALL_WELL, ALL_FAILED]
        patience = Patience(30)
        while leaders(client) != [(0, []), gone, (0, []), gone]:
            assert patience.lasts
            assert append(client) == [0, FAILED, 0, FAILED]
        assert errors_of_all(client, 1) == ALL_FAILED
    bad.write_text("no directory can be made here")
    with broker_on(good, bad) as broker, client_of(broker) as client:
        assert leaders(client) == [(0, []), gone, (0, []), gone]
        assert append(client) == [0, FAILED, 0, FAILED]
        assert errors_of_all(client, 0) == ALL_WELL
        assert errors_of_all(client, 1) == ALL_FAILED
        create_topic(client, "u", partitions=2)
        assert directories_of(client) == {"good": (0, [0, 0, 1, 2]), "bad": (FAILED, [])}
        assert set(errors_of_all(client, 9).values()) == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    bad.unlink()
    elsewhere.rename(bad)
    with broker_on(good, bad) as broker, client_of(broker) as client:
        assert append(client) == [0, 0, 0, 0]
        assert directories_of(client) == {"good": (0, [0, 0, 1, 2]), "bad": (0, [1, 3])}
        assert [len(list(read_all(client, "t", partition))) for partition in (1, 3)] == [2, 2]
        assert len(list(read_all(client, "t", 0))) == len(list(read_all(client, "t", 2))) >= 4
