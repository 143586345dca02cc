"""ListOffsets, OffsetForLeaderEpoch and DeleteRecords."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from differential.catalogue import scenario
from differential.members import ready
from kcompat.protocol.api_keys import ApiKey
from kcompat.records.compression import Codec

if TYPE_CHECKING:
    from differential.play import Play

LIST_OFFSETS, EPOCHS = ApiKey.LIST_OFFSETS, ApiKey.OFFSET_FOR_LEADER_EPOCH
DELETE_RECORDS = ApiKey.DELETE_RECORDS


def asked(name: str, *times: int, partition: int = 0, **fields: int) -> list[dict[str, Any]]:
    """One topic with a row for each time; the version 0 asks for up to five offsets."""
    rows = [
        {"partition_index": partition, "timestamp": time, "max_num_offsets": 5, **fields} for time in times
    ]
    return [{"name": name, "partitions": rows}]


@scenario(LIST_OFFSETS)
def list_special_offsets(play: Play, version: int) -> None:
    topic = play.topic(partitions=2)
    play.append(topic, b"one", b"two", times=[5000, 3000])
    play.append(topic, b"three", times=[4000])
    for time in (-1, -2, -3, -4, -5, -6, -100):
        for partition in (0, 1):
            play.call(LIST_OFFSETS, version, topics=asked(topic, time, partition=partition))


@scenario(LIST_OFFSETS)
def list_offsets_by_time(play: Play, version: int) -> None:
    topic = play.topic()
    play.append(topic, b"one", b"two", times=[1000, 3000])
    play.append(topic, b"three", b"four", times=[2000, 6000], codec=Codec.GZIP)
    play.append(topic, b"five", times=[4000])
    for time in (0, 999, 1000, 1001, 3000, 3001, 4000, 6000, 6001, 2**60):
        play.call(LIST_OFFSETS, version, topics=asked(topic, time))


@scenario(LIST_OFFSETS)
def list_offsets_after_deletion(play: Play, version: int) -> None:
    topic = play.topic()
    for _ in range(3):
        play.append(topic, b"one", b"two", times=[1000, 2000])
    topics = [{"name": topic, "partitions": [{"partition_index": 0, "offset": 3}]}]
    play.call(DELETE_RECORDS, 1, topics=topics, timeout_ms=5000)
    for time in (-1, -2, -3, 0, 1500, 2000):
        play.call(LIST_OFFSETS, version, topics=asked(topic, time))


@scenario(LIST_OFFSETS)
def list_offsets_of_unknown_places(play: Play, version: int) -> None:
    topic = play.topic()
    play.call(LIST_OFFSETS, version, topics=asked(topic, -1, partition=4))
    play.call(LIST_OFFSETS, version, topics=asked(topic, -1, partition=-1))
    for name in (play.name("absent"), "no good", ""):
        play.call(LIST_OFFSETS, version, topics=asked(name, -1))
    play.call(LIST_OFFSETS, version, topics=[])


@scenario(LIST_OFFSETS)
def list_offsets_of_one_partition_twice(play: Play, version: int) -> None:
    topic = play.topic()
    play.append(topic, b"one", b"two")
    play.call(LIST_OFFSETS, version, topics=asked(topic, -1, -2))


@scenario(LIST_OFFSETS, until=0)
def list_offsets_before_times(play: Play, version: int) -> None:
    topic = play.topic()
    play.append(topic, b"one", b"two")
    for count in (0, 1, 5, -1):
        rows = [{"partition_index": 0, "timestamp": -1, "max_num_offsets": count}]
        play.call(LIST_OFFSETS, version, topics=[{"name": topic, "partitions": rows}])
    for time in (-2, 0, 10**15):
        play.call(LIST_OFFSETS, version, topics=asked(topic, time))


@scenario(LIST_OFFSETS, until=9)
def list_offsets_across_segments(play: Play, version: int) -> None:
    topic = play.topic(segment_bytes="300")
    for number in range(8):
        play.append(topic, b"%d" % number * 50, times=[1000 * number])
    for time in (-1, -2, -3, 0, 2500, 5000, 7000, 7001):
        play.call(LIST_OFFSETS, version, topics=asked(topic, time))


@scenario(LIST_OFFSETS, since=2)
def list_offsets_with_isolation(play: Play, version: int) -> None:
    topic = play.topic()
    play.append(topic, b"one", b"two")
    for level in (0, 1):
        for time in (-1, -2, 1500, 9999):
            play.call(LIST_OFFSETS, version, topics=asked(topic, time), isolation_level=level)


@scenario(LIST_OFFSETS, since=2)
def list_offsets_with_unknown_isolation(play: Play, version: int) -> None:
    topic = play.topic()
    play.call(LIST_OFFSETS, version, topics=asked(topic, -1), isolation_level=5)


@scenario(LIST_OFFSETS, since=4)
def list_offsets_with_leader_epochs(play: Play, version: int) -> None:
    topic = play.topic()
    play.append(topic, b"one")
    for epoch in (-1, 0, 1, -2):
        play.call(LIST_OFFSETS, version, topics=asked(topic, -1, current_leader_epoch=epoch))


@scenario(LIST_OFFSETS)
def list_offsets_as_a_replica(play: Play, version: int) -> None:
    topic = play.topic()
    play.append(topic, b"one")
    for replica in (-1, -2, 1):
        play.call(LIST_OFFSETS, version, topics=asked(topic, -1), replica_id=replica)


@scenario(LIST_OFFSETS)
def list_offsets_with_log_append_time(play: Play, version: int) -> None:
    topic = play.topic(message_timestamp_type="LogAppendTime")
    play.append(topic, b"one", b"two")
    for time in (-3, 0, 2000, 2**60):
        play.call(LIST_OFFSETS, version, topics=asked(topic, time))


@scenario(EPOCHS)
def ends_of_leader_epochs(play: Play, version: int) -> None:
    topic = play.topic()

    def ask(epoch: int, *, name: str = topic, partition: int = 0, current: int = -1) -> None:
        rows = [{"partition": partition, "current_leader_epoch": current, "leader_epoch": epoch}]
        play.call(EPOCHS, version, topics=[{"topic": name, "partitions": rows}], replica_id=-1)

    ask(0)
    play.append(topic, b"one", b"two")
    for epoch in (0, 1, 5, -1, -2):
        ask(epoch)
    ask(0, partition=3)
    ask(0, name=play.name("absent"))
    ask(0, name="no good")
    if version >= 2:
        for current in (0, 1, -2):
            ask(0, current=current)


@scenario(DELETE_RECORDS)
def delete_records(play: Play, version: int) -> None:
    ready(play)
    topic = play.topic(partitions=2)
    for _ in range(3):
        play.append(topic, b"one", b"two")

    def delete(offset: int, *, name: str = topic, partition: int = 0) -> None:
        rows = [{"partition_index": partition, "offset": offset}]
        play.call(DELETE_RECORDS, version, topics=[{"name": name, "partitions": rows}], timeout_ms=5000)

    for offset in (0, 2, 1, 3, 7, -2, -1, 6):
        delete(offset)
    delete(0, partition=1)
    delete(-1, partition=1)
    delete(1, partition=1)
    delete(0, partition=5)
    delete(0, partition=-1)
    delete(0, name=play.name("absent"))
    delete(0, name="no good")
    delete(0, name="__consumer_offsets")
    delete(0, name=play.topic("compacted", cleanup_policy="compact"))
    delete(0, name=play.topic("both", cleanup_policy="compact,delete"))
    play.call(DELETE_RECORDS, version, topics=[], timeout_ms=5000)


@scenario(DELETE_RECORDS)
def delete_records_of_one_partition_twice(play: Play, version: int) -> None:
    topic = play.topic()
    play.append(topic, b"one", b"two", b"three")
    rows = [{"partition_index": 0, "offset": 1}, {"partition_index": 0, "offset": 2}]
    play.call(DELETE_RECORDS, version, topics=[{"name": topic, "partitions": rows}], timeout_ms=5000)
