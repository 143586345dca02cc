"""A data directory changes hands in the middle of transactions: from us to a Kafka 3.9, and back."""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from commands import run
from differential.members import ready
from differential.play import Play
from differential.transactions import Identity, add_offsets, begun, coordinated, over, write
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode
from support.kcompat_broker import KcompatBroker
from support.log_tools import dump_log_segments, what_kafka_finds_wrong, what_we_find_wrong
from zookeeper_kafka import ZooKeeper, ZooKeeperKafka

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.broker_process import BrokerProcess

pytestmark = pytest.mark.thorough("test_take_over.py takes a directory over")

SETTINGS = {
    "transaction.state.log.num.partitions": "1",
    "offsets.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.retention.ms": "-1",
}
TOPIC = "t"
OLD_END, NEW_END = 4, 5
"""Versions of EndTxn: the last of Kafka 3.9, and that in which the producer's epoch rises."""


@contextmanager
def at(broker: BrokerProcess) -> Iterator[Play]:
    play = Play(broker.port, "hands")
    try:
        yield play
    finally:
        play.close()


def write_at_once(play: Play, who: Identity, value: bytes) -> None:
    """As a producer of Kafka 4 does, which adds no partitions."""
    rows = [{"index": 0, "records": who.batch(value)}]
    fields = {"transactional_id": who.name, "acks": -1, "timeout_ms": 10_000}
    answer = play.do(ApiKey.PRODUCE, 12, topic_data=[{"name": TOPIC, "partition_data": rows}], **fields)
    assert answer.responses[0].partition_responses[0].error_code == 0, answer


def write_as_ever(play: Play, who: Identity, value: bytes) -> None:
    write(play, who, TOPIC, value)
    add_offsets(play, who, group_of(who))


def group_of(who: Identity) -> str:
    return f"{who.name}-group"


def commit_offset(play: Play, who: Identity, version: int, offset: int) -> None:
    """In its transaction."""
    topics = [{"name": TOPIC, "partitions": [{"partition_index": 0, "committed_offset": offset}]}]
    answer = play.do(ApiKey.TXN_OFFSET_COMMIT, version, group_id=group_of(who), topics=topics, **who.fields)
    assert answer.topics[0].partitions[0].error_code == 0, answer


def end(play: Play, who: Identity, version: int, *, commits: bool) -> Identity:
    """End its transaction; the producer as it goes on."""
    answer = play.do(ApiKey.END_TXN, version, committed=commits, **who.fields)
    assert answer.error_code == 0, answer
    over(play, who.name)
    return who if version < NEW_END else who._replace(epoch=answer.producer_epoch)


def seen(play: Play, isolation: int) -> int:
    """The end of the topic, for readers of this isolation level."""
    asked = [{"partition_index": 0, "timestamp": -1, "current_leader_epoch": -1}]
    topics = [{"name": TOPIC, "partitions": asked}]
    answer = play.do(ApiKey.LIST_OFFSETS, 7, replica_id=-1, isolation_level=isolation, topics=topics)
    return int(answer.topics[0].partitions[0].offset)


def aborted(play: Play) -> set[tuple[int, int]]:
    """The producers and first offsets of aborted transactions, as a reader of committed records is told from
    each offset on.
    """
    found = set()
    for offset in range(seen(play, 1)):
        rows = [{"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1_000_000}]
        answer = play.do(
            ApiKey.FETCH, 11, replica_id=-1, max_wait_ms=0, min_bytes=0, max_bytes=1_000_000,
            isolation_level=1, session_epoch=-1, topics=[{"topic": TOPIC, "partitions": rows}],
        )  # fmt: skip
        (partition,) = answer.responses[0].partitions
        assert partition.error_code == 0, answer
        found |= {(row.producer_id, row.first_offset) for row in partition.aborted_transactions or ()}
    return found


def committed(play: Play, who: Identity) -> int:
    """Return the committed offset of the producer's group; -1 if it has none."""
    topics = [{"name": TOPIC, "partition_indexes": [0]}]
    groups = [{"group_id": group_of(who), "topics": topics}]
    found: list[Any] = []

    def is_stable() -> bool:
        answer = play.do(ApiKey.OFFSET_FETCH, 8, groups=groups, require_stable=True)
        found[:] = answer.groups[0].topics[0].partitions if answer.groups[0].error_code == 0 else ()
        return bool(found) and found[0].error_code == 0

    play.until(is_stable, "no transaction holds its offsets back")
    return int(found[0].committed_offset)


def state_of(play: Play, who: Identity) -> tuple[str, int, int]:
    coordinated(play, who.name)
    (state,) = play.do(ApiKey.DESCRIBE_TRANSACTIONS, 0, transactional_ids=[who.name]).transaction_states
    return state.transaction_state, state.producer_id, state.producer_epoch


def decoded(directory: Path) -> dict[str, str]:
    """The last state of each id, as Kafka's tool tells it."""
    (log,) = sorted((directory / "__transaction_state-0").glob("*.log"))
    said = dump_log_segments("--files", str(log), "--transaction-log-decoder", directory=directory)
    found = re.findall(r"transaction_metadata::transactionalId=(\S+) payload: \{?(.*)", said)
    assert found, said
    return dict(found)


def test_open_transactions_are_ended_by_the_next_owner(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with KcompatBroker(SETTINGS, tmp_path) as ours, at(ours) as play:
        topics = [{"name": TOPIC, "num_partitions": 1, "replication_factor": 1}]
        play.do(ApiKey.CREATE_TOPICS, 5, topics=topics, timeout_ms=10_000)
        new, old = begun(play, "new"), begun(play, "old")
        ready(play)
        write_at_once(play, new, b"committed")
        commit_offset(play, new, 5, 1)
        new = end(play, new, NEW_END, commits=True)
        write_as_ever(play, old, b"aborted")
        old = end(play, old, OLD_END, commits=False)
        write_at_once(play, new, b"open and new")
        commit_offset(play, new, 5, 2)
        write(play, old, TOPIC, b"open and old", sequence=1)
        add_offsets(play, old, group_of(old))
        commit_offset(play, old, 3, 3)
        before = seen(play, 0)
        assert seen(play, 1) == 4, "before the first of those that are open"
        ours.kill()
    told = decoded(data)
    assert ("Ongoing" in told["new"], "Ongoing" in told["old"]) == (True, True), told
    assert what_kafka_finds_wrong(data) == []
    with ZooKeeper() as zookeeper:
        command = [sys.executable, "-m", "kcompat", "hand-over", "--data-dir", data]
        run([*command, "--zookeeper", zookeeper.bootstrap])
        with ZooKeeperKafka(zookeeper, tmp_path, SETTINGS) as kafka, at(kafka) as play:
            for who in (new, old):
                assert state_of(play, who) == ("Ongoing", who.producer_id, who.epoch)
            play.until(lambda: seen(play, 0) == before, "its leader knows the topic")
            assert seen(play, 1) == 4
            end(play, new, OLD_END, commits=True)
            end(play, old, OLD_END, commits=False)
            assert seen(play, 1) == seen(play, 0) == before + 2
            assert (committed(play, new), committed(play, old)) == (2, -1)
            assert aborted(play) == {(old.producer_id, 2), (old.producer_id, 5)}
            write(play, new, TOPIC, b"open at Kafka's", sequence=1)
            add_offsets(play, new, group_of(new))
            commit_offset(play, new, 3, 9)
            newest = begun(play, "newest")
            write_as_ever(play, newest, b"open at Kafka's as well")
            commit_offset(play, newest, 3, 10)
            kafka.stop()
    assert what_we_find_wrong(data) == ""
    (tmp_path / "process.log").unlink()
    with KcompatBroker(SETTINGS, tmp_path) as ours, at(ours) as play:
        for who in (new, newest):
            assert state_of(play, who) == ("Ongoing", who.producer_id, who.epoch)
        after = end(play, new, NEW_END, commits=True)
        assert after.epoch == new.epoch + 1
        end(play, newest, NEW_END, commits=False)
        assert seen(play, 1) == seen(play, 0)
        assert (committed(play, new), committed(play, newest)) == (9, -1)
        assert (newest.producer_id, before + 3) in aborted(play)
        refused = play.do(ApiKey.END_TXN, NEW_END, committed=True, **old.fields)
        assert refused.error_code == ErrorCode.INVALID_TXN_STATE
        ours.stop()
    told = decoded(data)
    assert ("CompleteCommit" in told["new"], "CompleteAbort" in told["newest"]) == (True, True), told
