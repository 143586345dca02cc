"""Records of consumer groups as a real Kafka 4.3.0 has written them, and with what they are written here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.cluster.image import BrokerInfo, ClusterImage, PartitionInfo, TopicImage
from kcompat.coordinator.transition import Transition
from kcompat.group.kinds.consumer.member import ClassicMembership, ConsumerMember, ConsumerMemberState
from kcompat.group.kinds.consumer.records import RECORDS
from kcompat.group.modern.topics import TopicHashes
from kcompat.group.serde import GROUP_SERDE
from kcompat.protocol.messages import consumer_group_records as messages

if TYPE_CHECKING:
    from kcompat.coordinator.operation import CoordinatorRecord

A = bytes.fromhex("535b75eca26f41a1887158670434af57")
B = bytes.fromhex("d4c60370de1e4baeb68bb47befb2aaa5")
HASH = -7277178898700316532
MEMBER = ConsumerMember(
    "m",
    member_epoch=2,
    previous_member_epoch=0,
    rebalance_timeout_ms=60_000,
    client_id="raw",
    client_host="/127.0.0.1",
    subscribed_topics=frozenset({"no", "x-a", "x-bb"}),
    assigned={B: {0: 2}, A: {0: 2, 1: 2, 2: 2}},
)
METADATA_KEY = b"\0\5\0\1g\0\1m"
METADATA = b"\0\0\0\0\4raw\x0b/127.0.0.1\4\3no\4x-a\5x-bb\1\0\0\xea`\0\1\0\1\0"
CURRENT_KEY = b"\0\x08\0\1g\0\1m"
CURRENT = (
    b"\0\0\0\0\0\2\0\0\0\0\0\3"
    + (B + b"\2\0\0\0\0\1\0\5\2\0\0\0\2")
    + (A + b"\4\0\0\0\0\0\0\0\1\0\0\0\2\1\0\r\4\0\0\0\2\0\0\0\2\0\0\0\2")
    + b"\1\0"
)


def written(member: ConsumerMember) -> list[tuple[bytes, bytes | None]]:
    transition: Transition[object] = Transition(None, 0)
    RECORDS.write_member(transition, "g", member)  # type: ignore[arg-type]
    RECORDS.write_current(transition, "g", member)  # type: ignore[arg-type]
    return [GROUP_SERDE.serialize(record) for record in transition.finish(None).records]


def read(key: bytes, value: bytes) -> CoordinatorRecord:
    found = GROUP_SERDE.deserialize(key, value)
    assert found is not None
    return found


def test_a_member_is_written_as_kafka_writes_it() -> None:
    assert written(MEMBER) == [(METADATA_KEY, METADATA), (CURRENT_KEY, CURRENT)]


def test_a_member_is_read_as_kafka_has_written_it() -> None:
    wants, has = read(METADATA_KEY, METADATA).value, read(CURRENT_KEY, CURRENT).value
    assert isinstance(wants, messages.ConsumerGroupMemberMetadataValue)
    assert isinstance(has, messages.ConsumerGroupCurrentMemberAssignmentValue)
    assert RECORDS.with_current(RECORDS.with_member(ConsumerMember("m"), wants), has) == MEMBER


def test_a_member_that_uses_the_classic_protocol() -> None:
    protocols = (("range", b"one"), ("sticky", b"two"))
    classic = ConsumerMember("m", classic=ClassicMembership(6_000, protocols))
    (key, value), _ = written(classic)
    assert value is not None
    found = read(key, value).value
    assert isinstance(found, messages.ConsumerGroupMemberMetadataValue)
    assert RECORDS.with_member(ConsumerMember("m"), found).classic == classic.classic


def test_epochs_of_partitions_that_an_older_kafka_has_not_written() -> None:
    value = messages.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=-2,
        state=1,
        assigned_partitions=[messages.ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions(A, [1])],
    )
    member = RECORDS.with_current(ConsumerMember("m"), value)
    assert (member.state, member.assigned) == (ConsumerMemberState.UNREVOKED_PARTITIONS, {A: {1: 0}})


def test_the_hash_of_topics_is_that_of_kafka() -> None:
    here = PartitionInfo(1, 0, (1,), (1,))
    topics = [
        TopicImage("x-a", A, dict.fromkeys(range(3), here)),
        TopicImage("x-bb", B, {0: here}),
    ]
    image = ClusterImage("c", brokers={1: BrokerInfo(1, "ra-ck", {})}).with_topics(topics)
    assert TopicHashes().of(["x-a", "x-bb", "no"], image) == HASH
