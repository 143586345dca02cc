"""Classic members and members of KIP-848 in one group, and groups that change their kind.

Members are static and the assignor is `range`, as its shares go by instance ids: which dynamic member gets
what depends on ids that are drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from differential.catalogue import scenario
from differential.members import HEARTBEAT, JOIN, LEAVE, SYNC, ready
from differential.scenarios.consumer_groups import going_on, known_topic, owning
from differential.scenarios.consumer_groups import joining as consuming
from kcompat.protocol.api_keys import ApiKey
from support.consumer_texts import Partitions, assignment, subscription

if TYPE_CHECKING:
    from differential.play import Play

BEAT, DESCRIBE = ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.CONSUMER_GROUP_DESCRIBE
NOTHING: Partitions = frozenset()


class Classic:
    """A static member that uses the classic protocol; every request is recorded."""

    def __init__(self, play: Play, group: str, instance_id: str, topic: str) -> None:
        self._play = play
        self._group = group
        self._topic = topic
        self._instance = {"group_instance_id": instance_id}
        self._generation = -1
        self.member_id = ""

    def join(self, *owned: int, names: tuple[str, ...] = ("range", "cooperative-sticky")) -> Any:
        """JoinGroup; the answer. What it owns goes by the indexes of the topic's partitions."""
        told = subscription([self._topic], frozenset((self._topic, index) for index in owned))
        answer = self._play.call(
            JOIN,
            9,
            group_id=self._group,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=30_000,
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=[{"name": name, "metadata": told} for name in names],
            **self._instance,
        )
        if not answer.error_code:
            self.member_id, self._generation = answer.member_id, answer.generation_id
        return answer

    def sync(self, *mine: int, **fields: Any) -> None:
        """SyncGroup, as a leader that gives itself these partitions."""
        rows = []
        if mine:
            given = assignment(frozenset((self._topic, index) for index in mine))
            rows = [{"member_id": self.member_id, "assignment": given}]
        names = {"protocol_type": "consumer", "protocol_name": "range", "assignments": rows}
        self._play.call(SYNC, 5, **{**self._who(), **names, **fields})

    def heartbeat(self, **fields: Any) -> None:
        """Send a Heartbeat of the member."""
        self._play.call(HEARTBEAT, 4, **{**self._who(), **fields})

    def commit(self, index: int, **fields: Any) -> None:
        """OffsetCommit of one partition."""
        who = {
            "generation_id_or_member_epoch" if k == "generation_id" else k: v for k, v in self._who().items()
        }
        rows = [{"partition_index": index, "committed_offset": 1}]
        topics = [{"name": self._topic, "partitions": rows}]
        self._play.call(ApiKey.OFFSET_COMMIT, 8, **{**who, **fields}, topics=topics)

    def leave(self) -> None:
        """Send a LeaveGroup of the member."""
        members = [{"member_id": self.member_id, **self._instance}]
        self._play.call(LEAVE, 5, group_id=self._group, members=members)

    def _who(self) -> dict[str, Any]:
        return {
            "group_id": self._group,
            "generation_id": self._generation,
            "member_id": self.member_id,
            **self._instance,
        }


def alone(play: Play, group: str, topic: str) -> Classic:
    """A classic group of one member, which has all three partitions of the topic."""
    member = Classic(play, group, "a", topic)
    member.join()
    member.sync(0, 1, 2)
    return member


def describe(play: Play, group: str) -> None:
    """ConsumerGroupDescribe, with the members in the order of their instance ids."""

    def ordered(answer: Any) -> None:
        for row in answer.groups:
            row.members.sort(key=lambda member: member.instance_id)

    play.call(DESCRIBE, 1, trim=ordered, group_ids=[group])


def wishes(topic: str, member: str) -> dict[str, Any]:
    """Return the fields of a member's first ConsumerGroupHeartbeat in these scenarios."""
    return {"subscribed_topic_names": [topic], "instance_id": member, "server_assignor": "range"}


@scenario(BEAT, since=1)
def classic_group_that_is_upgraded_and_downgraded(play: Play, version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play, partitions=3)
    first, number = alone(play, group, topic), play.topic_id(topic)
    first.commit(0)
    joined = play.call(BEAT, version, **consuming(group, "n", **wishes(topic, "n")))
    describe(play, group)
    play.call(ApiKey.DESCRIBE_GROUPS, 6, groups=[group])
    first.commit(0)
    first.heartbeat()
    first.sync()
    first.join(0, 1, 2)
    first.sync()
    first.heartbeat()
    first.join(0, 1)
    first.sync()
    first.heartbeat()
    now = play.call(BEAT, version, **going_on(group, "n", joined.member_epoch, instance_id="n"))
    second = Classic(play, group, "b", topic)
    second.join()
    second.sync()
    second.heartbeat()
    first.heartbeat()
    first.join(0, 1)
    first.join(0)
    first.sync()
    second.heartbeat()
    second.join()
    second.sync()
    second.commit(1)
    has = owning(number, 2)
    now = play.call(
        BEAT, version, **going_on(group, "n", now.member_epoch, instance_id="n", topic_partitions=has)
    )
    describe(play, group)
    second.leave()
    first.heartbeat()
    first.join(0)
    first.sync()
    play.call(BEAT, version, **going_on(group, "n", -1, instance_id="n"))
    describe(play, group)
    first.heartbeat()
    first.join(0)
    first.sync(0, 1, 2)
    first.heartbeat()
    play.call(ApiKey.DESCRIBE_GROUPS, 6, groups=[group])
    first.leave()


@scenario(BEAT, since=1)
def classic_joins_that_a_consumer_group_refuses(play: Play, version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play, partitions=3)
    play.call(BEAT, version, **consuming(group, "n", **wishes(topic, "n")))
    first = Classic(play, group, "a", topic)
    first.join()
    first.sync(member_id="x")
    first.sync(generation_id=1)
    first.sync(group_instance_id="x")
    first.sync(member_id="n", group_instance_id="n")
    first.sync(protocol_type="connect")
    first.sync(protocol_name="sticky")
    first.heartbeat(member_id="x")
    first.heartbeat(generation_id=1)
    first.heartbeat(group_instance_id="x")
    first.heartbeat(member_id="n", group_instance_id="n")
    first.commit(0, generation_id_or_member_epoch=99)
    stranger = Classic(play, group, "s", topic)
    stranger.join(names=("sticky",))
    stranger.join(names=())
    stranger.leave()
    stranger.member_id = "x"
    stranger.join()
    other = Classic(play, group, "a", topic)
    other.join()
    first.heartbeat()
    members = [{"member_id": "", "group_instance_id": "nobody"}, {"member_id": "", "group_instance_id": "a"}]
    play.call(LEAVE, 5, group_id=group, members=members)
    describe(play, group)


@scenario(BEAT, since=1)
def static_member_that_changes_its_protocol(play: Play, version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play, partitions=3)
    first = alone(play, group, topic)
    joined = play.call(BEAT, version, **consuming(group, "n", **wishes(topic, "a")))
    describe(play, group)
    first.heartbeat()
    has = owning(play.topic_id(topic), 0, 1, 2)
    play.call(
        BEAT, version, **going_on(group, "n", joined.member_epoch, instance_id="a", topic_partitions=has)
    )
    play.call(BEAT, version, **going_on(group, "n", -2, instance_id="a"))
    back = Classic(play, group, "a", topic)
    back.join()
    back.sync()
    back.heartbeat()
    describe(play, group)
    play.call(ApiKey.DESCRIBE_GROUPS, 6, groups=[group])


@scenario(BEAT, since=1)
def groups_that_change_their_kind_without_members(play: Play, version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play, partitions=3)
    first = alone(play, group, topic)
    first.commit(1)
    first.leave()
    play.call(BEAT, version, **consuming(group, "n", **wishes(topic, "n")))
    describe(play, group)
    play.call(ApiKey.OFFSET_FETCH, 7, group_id=group, topics=None)
    play.call(BEAT, version, **going_on(group, "n", -1, instance_id="n"))
    again = alone(play, group, topic)
    again.heartbeat()
    play.call(ApiKey.OFFSET_FETCH, 7, group_id=group, topics=None)
    again.leave()


@scenario(BEAT, since=1)
def groups_that_cannot_be_upgraded(play: Play, version: int) -> None:
    ready(play)
    topic = known_topic(play, partitions=3)
    for suffix, kind, told, given in (
        ("other", "connect", subscription([topic]), assignment(NOTHING)),
        ("assignor", "consumer", subscription([topic]), assignment(NOTHING, user_data=b"x")),
        ("damaged", "consumer", subscription([topic]), b"\0\0\0"),
    ):
        group = play.name(suffix)
        joined = play.call(
            JOIN,
            5,
            group_id=group,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=30_000,
            protocol_type=kind,
            protocols=[{"name": "range", "metadata": told}],
            group_instance_id="a",
        )
        who = {"group_id": group, "generation_id": joined.generation_id, "member_id": joined.member_id}
        rows = [{"member_id": joined.member_id, "assignment": given}]
        play.call(SYNC, 3, **who, group_instance_id="a", assignments=rows)
        play.call(BEAT, version, **consuming(group, "n", **wishes(topic, "n")))
        play.call(HEARTBEAT, 3, **who, group_instance_id="a")
