"""Consumer groups of KIP-848: heartbeats, what admins see of them, commits of their members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from differential.catalogue import scenario
from differential.members import ready
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from differential.play import Play

BEAT, DESCRIBE = ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.CONSUMER_GROUP_DESCRIBE
COMMIT, FETCH = ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH


def joining(group: str, member: str = "m", **fields: Any) -> dict[str, Any]:
    """The fields of a first heartbeat."""
    return {
        "group_id": group,
        "member_id": member,
        "member_epoch": 0,
        "rebalance_timeout_ms": 60_000,
        "subscribed_topic_names": [],
        "topic_partitions": [],
        **fields,
    }


def going_on(group: str, member: str, epoch: int, **fields: Any) -> dict[str, Any]:
    """The fields of a heartbeat without news."""
    return {"group_id": group, "member_id": member, "member_epoch": epoch, **fields}


def owning(topic_id: bytes, *partitions: int) -> list[dict[str, Any]]:
    """Partitions as a member reports them."""
    return [{"topic_id": topic_id, "partitions": list(partitions)}]


def known_topic(play: Play, suffix: str = "t", partitions: int = 1) -> str:
    """A new topic that the coordinator can assign already: Kafka's hears of it a little after its leader."""
    topic = play.topic(suffix, partitions=partitions)
    probe = joining(play.name(f"probe-{suffix}"), subscribed_topic_names=[topic])

    def is_known() -> bool:
        answer = play.do(BEAT, 1, **probe)
        return bool(answer.assignment and answer.assignment.topic_partitions)

    play.until(is_known, "the coordinator knows the topic")
    return topic


@scenario(BEAT)
def consumer_group_of_one(play: Play, version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play, partitions=3)
    joined = play.call(BEAT, version, **joining(group, subscribed_topic_names=[topic]))
    mine = (group, joined.member_id, joined.member_epoch)
    play.call(BEAT, version, **going_on(*mine))
    has = owning(play.topic_id(topic), 0, 1, 2)
    play.call(BEAT, version, **going_on(*mine, topic_partitions=has))
    full = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": [topic], "topic_partitions": has}
    play.call(BEAT, version, **going_on(*mine, **full))
    play.call(BEAT, version, **going_on(group, "m", 9))
    play.call(BEAT, version, **going_on(group, "m", 1))
    play.call(BEAT, version, **going_on(group, "stranger", 1))
    play.call(BEAT, version, **joining(group, subscribed_topic_names=[topic]))
    play.call(BEAT, version, **going_on(group, "stranger", -1))
    play.call(BEAT, version, **going_on(group, "m", -1))
    play.call(BEAT, version, **going_on(group, "m", -1))
    play.call(BEAT, version, **going_on(group, "m", joined.member_epoch))


@scenario(BEAT)
def consumer_group_of_two(play: Play, version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play, partitions=2)
    names, number = {"subscribed_topic_names": [topic]}, play.topic_id(topic)
    first = play.call(BEAT, version, **joining(group, "a", **names)).member_epoch
    second = play.call(BEAT, version, **joining(group, "b", **names)).member_epoch
    play.call(BEAT, version, **going_on(group, "a", first, topic_partitions=owning(number, 0, 1)))
    play.call(BEAT, version, **going_on(group, "b", second))
    play.call(BEAT, version, **going_on(group, "a", first))
    play.call(BEAT, version, **going_on(group, "a", first, topic_partitions=owning(number, 0)))
    play.call(BEAT, version, **going_on(group, "b", second, topic_partitions=[]))
    play.call(BEAT, version, **going_on(group, "a", -1))
    play.call(BEAT, version, **going_on(group, "b", second, topic_partitions=owning(number, 1)))
    play.call(DESCRIBE, version, group_ids=[group])


@scenario(BEAT)
def consumer_group_with_other_wishes(play: Play, version: int) -> None:
    ready(play)
    group, one, two = play.name("g"), known_topic(play, "one"), known_topic(play, "two", partitions=2)
    wish = {"subscribed_topic_names": [one], "server_assignor": "range", "rack_id": "r"}
    epoch = play.call(BEAT, version, **joining(group, **wish)).member_epoch
    has = owning(play.topic_id(one), 0)
    both = {"subscribed_topic_names": [one, two], "topic_partitions": has}
    epoch = play.call(BEAT, version, **going_on(group, "m", epoch, **both)).member_epoch
    has += owning(play.topic_id(two), 0, 1)
    left = {"subscribed_topic_names": [two], "topic_partitions": has}
    epoch = play.call(BEAT, version, **going_on(group, "m", epoch, **left)).member_epoch
    now = owning(play.topic_id(two), 0, 1)
    play.call(BEAT, version, **going_on(group, "m", epoch, topic_partitions=now))
    play.call(DESCRIBE, version, group_ids=[group])
    absent = going_on(group, "m", epoch + 1, subscribed_topic_names=["absent"], topic_partitions=now)
    play.call(BEAT, version, **absent)


@scenario(BEAT)
def consumer_heartbeats_that_are_refused(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")
    for fields in (
        {"group_id": ""},
        {"member_id": ""},
        {"instance_id": ""},
        {"rack_id": ""},
        {"rebalance_timeout_ms": -1},
        {"topic_partitions": None},
        {"topic_partitions": owning(bytes(range(16)), 0)},
        {"subscribed_topic_names": None},
        {"member_epoch": -2},
        {"member_epoch": -3},
        {"member_epoch": 5},
        {"member_epoch": -1},
        {"server_assignor": "sticky"},
    ):
        if "member_id" in fields and version == 0:
            continue
        play.call(BEAT, version, **{**joining(group), **fields})


@scenario(BEAT)
def static_consumers(play: Play, version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play, partitions=2)
    wish = {"subscribed_topic_names": [topic], "instance_id": "i"}
    epoch = play.call(BEAT, version, **joining(group, "a", **wish)).member_epoch
    play.call(BEAT, version, **joining(group, "b", **wish))
    play.call(BEAT, version, **going_on(group, "a", epoch, instance_id="x"))
    play.call(BEAT, version, **going_on(group, "b", epoch, instance_id="i"))
    play.call(BEAT, version, **going_on(group, "a", -2, instance_id="i"))
    play.call(DESCRIBE, version, group_ids=[group])
    play.call(BEAT, version, **joining(group, "b", **wish))
    play.call(BEAT, version, **going_on(group, "a", epoch, instance_id="i"))
    play.call(BEAT, version, **going_on(group, "a", -1, instance_id="i"))
    play.call(BEAT, version, **going_on(group, "a", -1, instance_id="x"))
    play.call(DESCRIBE, version, group_ids=[group])
    play.call(BEAT, version, **going_on(group, "b", -1, instance_id="i"))


@scenario(BEAT, since=1)
def consumers_with_patterns(play: Play, version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play, "found", partitions=2)
    for pattern in ("(", "a**", "[b-a]", "(?=a)", r"\1", "a{1001}", r"\p{Nix}"):
        wish = {"subscribed_topic_names": None, "subscribed_topic_regex": pattern}
        play.call(BEAT, version, **joining(group, **wish))
    wish = {"subscribed_topic_names": None, "subscribed_topic_regex": f"{topic[:-1]}[a-z]"}
    joined = play.call(BEAT, version, **joining(group, **wish))
    answers: list[Any] = []

    def has_its_topic() -> bool:
        epoch = answers[-1].member_epoch if answers else joined.member_epoch
        answers.append(play.do(BEAT, version, on="main", **going_on(group, "m", epoch, topic_partitions=[])))
        return bool(answers[-1].assignment and answers[-1].assignment.topic_partitions)

    play.until(has_its_topic, "the topic was found")
    play.call(DESCRIBE, version, group_ids=[group])


@scenario(DESCRIBE)
def describe_consumer_groups(play: Play, version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play, partitions=2)
    play.call(DESCRIBE, version, group_ids=[group])
    play.call(DESCRIBE, version, group_ids=[])
    play.call(DESCRIBE, version, group_ids=["", group])
    wish = {"subscribed_topic_names": [topic], "instance_id": "i", "rack_id": "r"}
    play.do(BEAT, 0, **joining(group, **wish))
    play.call(DESCRIBE, version, group_ids=[group])
    play.call(DESCRIBE, version, group_ids=[group, play.name("never")], include_authorized_operations=True)
    play.call(ApiKey.DESCRIBE_GROUPS, 6, groups=[group])
    play.do(BEAT, 0, **going_on(group, "m", -1, instance_id="i"))
    play.call(DESCRIBE, version, group_ids=[group])
    play.call(ApiKey.DELETE_GROUPS, 2, groups_names=[group])
    play.call(DESCRIBE, version, group_ids=[group])


@scenario(COMMIT, since=10)
def commits_of_consumers(play: Play, version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play, partitions=2)
    number, names = play.topic_id(topic), {"subscribed_topic_names": [topic]}
    first = play.do(BEAT, 1, **joining(group, "a", **names)).member_epoch
    second = play.do(BEAT, 1, **joining(group, "b", **names)).member_epoch
    has = owning(number, 0, 1)
    play.do(BEAT, 1, **going_on(group, "a", first, topic_partitions=has))
    rows = [{"partition_index": index, "committed_offset": 1} for index in (0, 1)]
    topics = [{"name": topic, "topic_id": number, "partitions": rows}]

    def commit(member: str, epoch: int) -> None:
        who = {"group_id": group, "member_id": member, "generation_id_or_member_epoch": epoch}
        play.call(COMMIT, version, **who, topics=topics)

    commit("a", first)
    play.do(BEAT, 1, **going_on(group, "a", first, topic_partitions=owning(number, 0)))
    play.do(BEAT, 1, **going_on(group, "b", second))
    for member, epoch in (("a", first), ("a", second), ("a", 9), ("b", first), ("b", second)):
        commit(member, epoch)
    commit("stranger", second)
    commit("", -1)
    for member, epoch in ((None, -1), ("a", second), ("a", first), ("stranger", second)):
        asked = {"group_id": group, "member_id": member, "member_epoch": epoch, "topics": None}
        play.call(FETCH, version, groups=[asked])
