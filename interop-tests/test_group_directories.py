"""Groups of today move with their data directory: from a real Kafka 4.3 to kcompat and back.

Topic ids are in the records of groups, so Kafka makes the topic, kcompat adopts a copy of the directory, and
what it has written to `__consumer_offsets` and `__share_group_state` comes back to the directory of Kafka.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

from differential.members import HEARTBEAT, SYNC, join_for_long, ready
from differential.play import Play
from differential.scenarios.consumer_groups import going_on, known_topic, owning
from differential.scenarios.consumer_groups import joining as consuming
from differential.scenarios.share_groups import ALTER, OFFSETS, altering, settled
from differential.scenarios.share_groups import BEAT as SHARE_BEAT
from differential.scenarios.share_groups import DESCRIBE as DESCRIBE_SHARE
from differential.scenarios.share_groups import going_on as sharing_on
from differential.scenarios.share_records import ACKNOWLEDGE, FETCH, fetching, saying
from differential.scenarios.streams_groups import BEAT as STREAMS_BEAT
from differential.scenarios.streams_groups import DESCRIBE as DESCRIBE_STREAMS
from differential.scenarios.streams_groups import going_on as streaming_on
from differential.scenarios.streams_groups import joining as streaming
from differential.scenarios.streams_groups import owning as doing
from differential.scenarios.streams_groups import until_stable
from differential.scenarios.streams_topologies import application
from kcompat.protocol.api_keys import ApiKey
from real_kafka import RealKafka
from support.eventually import eventually
from support.kcompat_broker import KcompatBroker
from support.places import CACHE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.broker_process import BrokerProcess

pytestmark = [
    pytest.mark.timeout(300),  # several starts of a Kafka, one after another
    pytest.mark.thorough("test_take_over.py takes groups over"),
]

BEAT, DESCRIBE = ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.CONSUMER_GROUP_DESCRIBE
RELEASE = "4.3.0"
GROUP, CLASSIC, SHARED, STREAMS = "g", "c", "s", "st"
FEW = {
    "offsets.topic.num.partitions": "3",
    "share.coordinator.state.topic.num.partitions": "3",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
}


@contextmanager
def asking(broker: BrokerProcess) -> Iterator[Play]:
    play = Play(broker.port, "moved")
    try:
        yield play
    finally:
        play.close()


def shown(play: Play) -> tuple[Any, ...]:
    """Return the description of the groups: members, epochs, partitions; offsets; the classic group."""
    (described,) = play.do(DESCRIBE, 1, group_ids=[GROUP]).groups
    assert not described.error_code, described
    described.members.sort(key=lambda member: member.member_id)
    for member in described.members:
        for assigned in (member.assignment, member.target_assignment):
            for row in assigned.topic_partitions:
                row.partitions.sort()
    (offsets,) = play.do(ApiKey.OFFSET_FETCH, 8, groups=[{"group_id": GROUP, "topics": None}]).groups
    rows = sorted(
        (topic.name, row.partition_index, row.committed_offset, row.metadata)
        for topic in offsets.topics
        for row in topic.partitions
    )
    (classic,) = play.do(ApiKey.DESCRIBE_GROUPS, 5, groups=[CLASSIC]).groups
    return described, rows, classic, *shares(play)


def shares(play: Play) -> tuple[Any, Any]:
    """Return the description of the share group: members, epochs, partitions; its remaining records."""
    (described,) = play.do(DESCRIBE_SHARE, 1, group_ids=[SHARED]).groups
    assert not described.error_code, described
    (offsets,) = play.do(OFFSETS, 1, groups=[{"group_id": SHARED, "topics": None}]).groups
    assert not offsets.error_code, offsets
    left = sorted(
        (topic.topic_name, row.partition_index, row.lag)
        for topic in offsets.topics
        for row in topic.partitions
    )
    return described, left


def streams(play: Play, epoch: int) -> Any:
    """Return the description of the streams group once its member has sent a heartbeat, so that its topics
    are as they were.
    """
    answer = play.do(STREAMS_BEAT, 0, **streaming_on(STREAMS, "m", epoch))
    assert (answer.error_code, answer.status) == (0, []), answer
    (described,) = play.do(DESCRIBE_STREAMS, 0, group_ids=[STREAMS]).groups
    assert not described.error_code, described
    described.members.sort(key=lambda member: member.member_id)
    for subtopology in described.topology.subtopologies:
        for made in (*subtopology.state_changelog_topics, *subtopology.repartition_source_topics):
            made.topic_configs.sort(key=lambda config: config.key)
            made.partitions = 0  # which a Kafka that was started again shows once it has written of the group
    return described


def insist_on(play: Play, working: int, expected: Any) -> None:
    """Wait until all of this is told: the coordinators of shares and of groups load their logs one by one."""
    found: list[Any] = [None]

    def is_told() -> bool:
        with suppress(AssertionError):
            found[0] = shown(play), streams(play, working)
        return bool(found[0] == expected)

    with suppress(AssertionError):
        eventually(is_told, "all of it is told", 60)
    assert found[0] == expected


def header(play: Play) -> tuple[int, int]:
    """The epochs of the group and of its target."""
    (group,) = play.do(DESCRIBE, 1, group_ids=[GROUP]).groups
    return group.group_epoch, group.assignment_epoch


def goes_on(play: Play, member: str, epoch: int, **fields: Any) -> Any:
    """A heartbeat that has to be accepted."""
    answer = play.do(BEAT, 1, **going_on(GROUP, member, epoch, **fields))
    assert not answer.error_code, answer
    return answer


def sync_classic(play: Play, group: str, instance_id: str, joined: Any) -> None:
    given = {"member_id": joined.member_id, "assignment": b"\0\0\0\0\0\0\xff\xff\xff\xff"}
    who = {"group_id": group, "generation_id": joined.generation_id, "member_id": joined.member_id}
    names = {"protocol_type": "consumer", "protocol_name": "range", "group_instance_id": instance_id}
    answer = play.do(SYNC, 5, **who, **names, assignments=[given] if group == CLASSIC else [])
    assert not answer.error_code, answer


def loaded(broker: BrokerProcess) -> None:
    """Wait until the groups are served, and the coordinator knows the topics."""
    with asking(broker) as play:
        eventually(
            lambda: not play.do(DESCRIBE, 1, group_ids=[GROUP]).groups[0].error_code, "groups are served", 60
        )


def copy_groups(source: Path, target: Path) -> None:
    """Put the logs of both coordinators into another directory, in place of those that are there."""
    logs = [*source.glob("__consumer_offsets-*"), *source.glob("__share_group_state-*")]
    for directory in logs:
        there = target / directory.name
        for old in there.iterdir():
            if old.name != "partition.metadata":
                old.unlink()
        for new in directory.iterdir():
            if new.name != "partition.metadata":
                shutil.copy2(new, there / new.name)


def test_groups_go_to_kcompat_and_back(tmp_path: Path) -> None:
    if shutil.which("java") is None or not (CACHE / f"kafka-{RELEASE}" / "libs").is_dir():
        pytest.skip("install a Java 17 runtime and run python interop-tests/fetch.py jars")
    kafka = RealKafka(RELEASE, FEW, data_dir=tmp_path / "kafka")
    with kafka:
        with asking(kafka) as play:
            ready(play)
            topic = known_topic(play, partitions=4)
            number = play.topic_id(topic)
            wish = {"subscribed_topic_names": [topic], "rebalance_timeout_ms": 300_000}
            first = play.do(BEAT, 1, **consuming(GROUP, "a", **wish, rack_id="r")).member_epoch
            static = {**wish, "instance_id": "i", "server_assignor": "range"}
            second = play.do(BEAT, 1, **consuming(GROUP, "b", **static)).member_epoch
            pattern = {**wish, "subscribed_topic_names": None, "subscribed_topic_regex": f"{topic[:-1]}."}
            third = play.do(BEAT, 1, **consuming(GROUP, "p", **pattern)).member_epoch
            rows = [{"partition_index": 0, "committed_offset": 7, "committed_metadata": "note"}]
            who = {"group_id": GROUP, "member_id": "a", "generation_id_or_member_epoch": first}
            topics = [{"name": topic, "partitions": rows}]
            committed = play.do(ApiKey.OFFSET_COMMIT, 9, **who, topics=topics)
            assert not committed.topics[0].partitions[0].error_code, committed
            joined = join_for_long(play, CLASSIC, topic, group_instance_id="x")
            sync_classic(play, CLASSIC, "x", joined)
            play.until(lambda: header(play)[0] > third, "the pattern has been looked up")
            play.append(topic, b"0", b"1", b"2")
            play.do(ALTER, 0, **altering(SHARED, topic, p0=1, p1=0, p2=0, p3=0))
            sharing = settled(play, SHARED, "m", topic)
            joined_streams = play.do(STREAMS_BEAT, 0, **streaming(STREAMS, "m", *application(STREAMS, topic)))
            working = until_stable(play, STREAMS, "m", joined_streams.member_epoch)
            before = shown(play), streams(play, working)
        kafka.stop()
        kafka.log_path.rename(tmp_path / "kafka.log")
        shutil.copytree(kafka.home, tmp_path / "ours")
        with KcompatBroker(FEW, tmp_path / "ours") as ours:
            loaded(ours)
            with asking(ours) as play:
                insist_on(play, working, before)
                goes_on(play, "b", second, instance_id="i")
                heartbeat = {"generation_id": joined.generation_id, "member_id": joined.member_id}
                beat = play.do(HEARTBEAT, 4, group_id=CLASSIC, group_instance_id="x", **heartbeat)
                assert not beat.error_code
                epoch = goes_on(play, "a", first, topic_partitions=owning(number, 0)).member_epoch
                mixed = join_for_long(play, GROUP, topic, group_instance_id="z")
                sync_classic(play, GROUP, "z", mixed)
                assert not play.do(SHARE_BEAT, 1, **sharing_on(SHARED, "m", sharing)).error_code
                fetched = play.do(FETCH, 2, **fetching(SHARED, "m", 0, number, 0)).responses[0].partitions[0]
                assert [(row.first_offset, row.last_offset) for row in fetched.acquired_records] == [(1, 2)]
                said = play.do(ACKNOWLEDGE, 2, **saying(SHARED, "m", 1, number, (1, 1, [1])))
                assert not said.responses[0].partitions[0].error_code, said
                more = play.do(STREAMS_BEAT, 0, **streaming(STREAMS, "n", *application(STREAMS, topic)))
                assert not more.error_code, more
                told = play.do(
                    STREAMS_BEAT,
                    0,
                    **streaming_on(STREAMS, "m", working, **doing(a0=[0, 1, 2, 3], a1=[0, 1, 2, 3])),
                )
                assert sum(len(row.partitions) for row in told.active_tasks) == 4, told
                after = shown(play), streams(play, working)
            assert ours.is_running()
            ours.stop()
        copy_groups(tmp_path / "ours" / "data", kafka.home / "data")
        kafka.start()
        loaded(kafka)
        with asking(kafka) as play:
            insist_on(play, working, after)
            members = {member.member_id: member for member in after[0][0].members}
            assert members[mixed.member_id].member_type == 0
            goes_on(play, "a", epoch)
            assert not play.do(SHARE_BEAT, 1, **sharing_on(SHARED, "m", sharing)).error_code
            fetched = play.do(FETCH, 2, **fetching(SHARED, "n", 0, number, 0)).responses[0].partitions[0]
            assert [(row.first_offset, row.last_offset) for row in fetched.acquired_records] == [(2, 2)]
            who = {"group_id": GROUP, "group_instance_id": "z", "member_id": mixed.member_id}
            beat = play.do(HEARTBEAT, 4, **who, generation_id=mixed.generation_id)
            assert beat.error_code in (0, 27), "known, perhaps to join again"
