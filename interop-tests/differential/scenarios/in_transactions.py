"""Parts of a transaction: records, offsets of groups, and the markers at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from differential.catalogue import scenario
from differential.members import ready, stable
from differential.play import batch
from differential.scenarios.commits import committing, fetching
from differential.scenarios.fetch import Fetcher, row
from differential.scenarios.produce import produce
from differential.scenarios.transactions import described, stored
from differential.transactions import END, add, add_offsets, begun, coordinated, end, over, write
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from differential.play import Play
    from differential.transactions import Identity

PRODUCE, FETCH, LIST_OFFSETS = ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.LIST_OFFSETS
COMMIT, COMMITTED = ApiKey.TXN_OFFSET_COMMIT, ApiKey.OFFSET_FETCH
MARKERS, PRODUCERS = ApiKey.WRITE_TXN_MARKERS, ApiKey.DESCRIBE_PRODUCERS
ADDS_ITSELF = 5
"""From this version on TxnOffsetCommit adds the group's partition to the transaction."""


@scenario(PRODUCE, since=3)
def transactional_records(play: Play, version: int) -> None:
    topic = play.topic(partitions=2)
    who = begun(play, play.name("x"))
    coordinated(play, f"{who.name}-of-nobody")

    def send(data: bytes, name: str | None = who.name, partition: int = 0) -> None:
        produce(play, version, topic, data, partition=partition, acks=-1, transactional_id=name)

    add(play, who, (topic, 0))
    send(who.batch(b"one", b"two"))
    send(who.batch(b"one", b"two"))
    send(who.batch(b"three", sequence=2))
    send(who.batch(b"far", sequence=9))
    send(batch(b"plain"))
    send(batch(b"idempotent", producer_id=who.producer_id, producer_epoch=who.epoch, base_sequence=3))
    send(who.batch(b"no id", sequence=3), name=None)
    send(who.batch(b"empty id", sequence=3), name="")
    for stranger in who.others()[:3]:
        send(stranger.batch(b"stranger", sequence=3))
    send(who.batch(b"other id", sequence=3), name=f"{who.name}-of-nobody")
    end(play, who)
    stored(play, topic)


@scenario(PRODUCE, since=3)
def transactional_records_not_added(play: Play, version: int) -> None:
    topic = play.topic(partitions=3)
    who = begun(play, play.name("x"))
    coordinated(play, f"{who.name}-of-nobody")

    def send(data: bytes, partition: int, name: str = who.name) -> None:
        produce(play, version, topic, data, partition=partition, acks=-1, transactional_id=name)

    for stranger in who.others()[:3]:
        send(stranger.batch(b"stranger"), 0)
    send(who.batch(b"other id"), 0, f"{who.name}-of-nobody")
    send(who.batch(b"not added"), 0)
    add(play, who, (topic, 1))
    send(who.batch(b"not added"), 2)
    rows = [{"index": index, "records": who.batch(b"both")} for index in (1, 2, 9)]
    asked = [{"name": topic, "partition_data": rows}]
    play.call(PRODUCE, version, transactional_id=who.name, acks=-1, timeout_ms=5000, topic_data=asked)
    described(play, who.name)


@scenario(PRODUCE, since=3)
def transactional_records_of_two_producers(play: Play, version: int) -> None:
    topic = play.topic(partitions=3)
    who, other = (begun(play, play.name(suffix)) for suffix in "xy")
    for each in (who, other):
        add(play, each, (topic, 0), (topic, 1), (topic, 2))

    def send(*batches: bytes) -> None:
        rows = [{"index": index, "records": data} for index, data in enumerate(batches)]
        asked = [{"name": topic, "partition_data": rows}]
        play.call(PRODUCE, version, transactional_id=who.name, acks=1, timeout_ms=5000, topic_data=asked)

    send(who.batch(b"one"), other.batch(b"two"))
    send(who.batch(b"one"), who._replace(epoch=who.epoch + 1).batch(b"two"))
    send(who.batch(b"one"), batch(b"plain"), who.batch(b"two"))
    identity = {"producer_id": other.producer_id, "producer_epoch": other.epoch, "base_sequence": 0}
    send(who.batch(b"three", sequence=1), batch(b"idempotent", **identity))


@scenario(PRODUCE, since=3)
def transactional_records_after_the_end(play: Play, version: int) -> None:
    topic = play.topic()
    who = begun(play, play.name("x"))
    for number, commits in enumerate((True, False)):
        write(play, who, topic, b"in time", sequence=number)
        end(play, who, commits=commits)
    data = who.batch(b"late", sequence=2)
    produce(play, version, topic, data, acks=-1, transactional_id=who.name)
    newer = begun(play, who.name)
    produce(play, version, topic, data, acks=-1, transactional_id=who.name)
    add(play, newer, (topic, 0))
    for sequence in (1, 0):
        data = newer.batch(b"newer", sequence=sequence)
        produce(play, version, topic, data, acks=-1, transactional_id=who.name)
    produce(play, version, topic, who.batch(b"late", sequence=2), acks=-1, transactional_id=who.name)
    end(play, newer)
    stored(play, topic)


@scenario(FETCH, since=4)
def fetch_committed_only(play: Play, version: int) -> None:
    topic, fetch = play.topic(), Fetcher(play, version)
    who, other, third = (begun(play, play.name(suffix)) for suffix in "xyz")
    play.append(topic, b"plain")
    write(play, who, topic, b"aborted")
    write(play, other, topic, b"committed")
    write(play, third, topic, b"open")

    def read() -> None:
        for isolation in (0, 1):
            for offset in (0, 2, 4, 6):
                fetch(fetch.topic(topic, row(offset)), isolation_level=isolation)
            fetch(fetch.topic(topic, row(0, size=1)), isolation_level=isolation)
        rows = [{"partition_index": 0, "timestamp": -1}]
        for isolation in (0, 1):
            asked = [{"name": topic, "partitions": rows}]
            play.call(LIST_OFFSETS, 6, replica_id=-1, isolation_level=isolation, topics=asked)

    read()
    end(play, who, commits=False)
    read()
    end(play, other)
    end(play, third, commits=False)
    read()
    write(play, who, topic, b"aborted again", sequence=1)
    end(play, who, commits=False)
    read()


@scenario(PRODUCERS)
def describe_producers_in_transactions(play: Play, version: int) -> None:
    topic = play.topic()
    who = begun(play, play.name("x"))
    asked = [{"name": topic, "partition_indexes": [0]}]
    for number, commits in enumerate((True, False)):
        write(play, who, topic, b"one", sequence=number)
        play.call(PRODUCERS, version, topics=asked)
        end(play, who, commits=commits)
        play.call(PRODUCERS, version, topics=asked)


@scenario(COMMIT)
def transactional_offsets(play: Play, version: int) -> None:
    ready(play)
    topic, group = play.topic(partitions=2), play.name("g")
    who = begun(play, play.name("x"))
    coordinated(play, f"{who.name}-of-nobody")

    def commit(topics: Any, by: Identity, in_group: str = group) -> None:
        play.call(COMMIT, version, group_id=in_group, topics=topics, **by.fields)

    if version < ADDS_ITSELF:
        commit(committing(topic), who)
    for commits in (True, False):
        if version < ADDS_ITSELF:
            add_offsets(play, who, group)
        commit(committing(topic, 7 if commits else 8), who)
        commit(committing(topic, 9, partition=1, committed_leader_epoch=3), who)
        rows = [*committing(topic, partition=9), *committing(play.name("never")), *committing(topic, 5)]
        commit(rows, who)
        commit(committing(topic, metadata="x" * 4097), who)
        commit(committing(topic, -5, metadata=None), who)
        commit([], who)
        newer, *strangers = who.others()
        for stranger in strangers if version < ADDS_ITSELF else (newer, *strangers):
            commit(committing(topic), stranger)  # a Kafka 3.9 takes those of a higher epoch and then hangs
        play.call(COMMITTED, 7, **fetching(group, {topic: [0, 1]}))
        play.call(COMMITTED, 7, **fetching(group, {topic: [0, 1]}, require_stable=True))
        end(play, who, commits=commits)
        settled(play, group, topic)
        play.call(COMMITTED, 7, **fetching(group, {topic: [0, 1]}, require_stable=True))
        who = begun(play, who.name)
    commit(committing(topic), who, "")


def settled(play: Play, group: str, topic: str) -> None:
    """Wait until no offset of the group is in a transaction."""

    def is_settled() -> bool:
        answer = play.do(COMMITTED, 7, **fetching(group, {topic: [0, 1]}, require_stable=True))
        return not any(row.error_code for topic in answer.topics for row in topic.partitions)

    play.until(is_settled, f"offsets of {group} are settled")


@scenario(COMMIT, since=3)
def transactional_offsets_of_members(play: Play, version: int) -> None:
    topic, group = play.topic(), play.name("g")
    joined = stable(play, group, group_instance_id="who")
    who = begun(play, play.name("x"))
    if version < ADDS_ITSELF:
        add_offsets(play, who, group)
    mine = (joined.generation_id, joined.member_id, "who")
    for generation, member, instance in (
        mine,
        (joined.generation_id, joined.member_id, None),
        (joined.generation_id + 1, joined.member_id, "who"),
        (joined.generation_id, "stranger", None),
        (joined.generation_id, "stranger", "who"),
        (joined.generation_id, joined.member_id, "other"),
        (joined.generation_id, "", None),
        (-1, joined.member_id, None),
        (-1, "stranger", None),
        (-1, "", "who"),
        (-1, "", None),
    ):
        fields = {"generation_id_or_member_epoch": generation, "member_id": member}
        fields |= {"group_instance_id": instance, **who.fields}
        play.call(COMMIT, version, group_id=group, topics=committing(topic), **fields)
    end(play, who)
    settled(play, group, topic)
    play.call(COMMITTED, 7, **fetching(group, {topic: [0]}))


@scenario(MARKERS)
def markers_of_an_administrator(play: Play, version: int) -> None:
    topic = play.topic(partitions=3)
    who, other = (begun(play, play.name(suffix)) for suffix in "xy")
    for partition in (0, 1):
        write(play, who, topic, b"hangs", partition=partition)
    write(play, other, topic, b"hangs too")
    asked = [{"name": topic, "partition_indexes": [0]}]

    def mark(*rows: dict[str, Any]) -> None:
        play.call(MARKERS, version, markers=list(rows))
        play.call(PRODUCERS, 0, topics=asked)

    def marker(
        by: Identity, *places: tuple[str, int], epoch: int | None = None, term: int = 0, commits: bool = False
    ) -> dict[str, Any]:
        return {
            "producer_id": by.producer_id,
            "producer_epoch": by.epoch if epoch is None else epoch,
            "coordinator_epoch": term,
            "transaction_result": commits,
            "topics": [{"name": name, "partition_indexes": [index]} for name, index in places],
        }

    mark(marker(who, (topic, 0), epoch=who.epoch - 1))
    mark(marker(who, (topic, 9), (play.name("never"), 0), (topic, 1)))
    mark(marker(who, (topic, 0)), marker(other, (topic, 0), commits=True))
    mark(marker(who, (topic, 0)))
    mark(marker(who, (topic, 0), term=5))
    mark(marker(who, (topic, 0), term=4))
    mark(marker(who, (topic, 0), epoch=who.epoch + 1, term=5))
    mark(marker(who, (topic, 0), epoch=who.epoch, term=5))
    mark(marker(who, (topic, 2), term=-1))
    mark(marker(who._replace(producer_id=who.producer_id + 700_000), (topic, 2), epoch=0))
    mark()
    stored(play, topic)
    play.call(END, 3, committed=True, **other.fields)
    over(play, other.name)


@scenario(MARKERS, since=2)
def markers_of_producers_whose_epoch_rises(play: Play, version: int) -> None:
    topic = play.topic()
    who = begun(play, play.name("x"))
    write(play, who, topic, b"hangs")
    for epoch in (who.epoch - 1, who.epoch, who.epoch + 1, who.epoch + 1):
        row = {
            "producer_id": who.producer_id,
            "producer_epoch": epoch,
            "coordinator_epoch": 0,
            "transaction_version": 2,
            "topics": [{"name": topic, "partition_indexes": [0]}],
        }
        play.call(MARKERS, version, markers=[row])
    stored(play, topic)
