"""Streams groups of KIP-1071: heartbeats, topologies and their topics, and what admins see and change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from differential.catalogue import scenario
from differential.members import ready
from differential.scenarios.consumer_groups import known_topic
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from differential.play import Play

BEAT, DESCRIBE = ApiKey.STREAMS_GROUP_HEARTBEAT, ApiKey.STREAMS_GROUP_DESCRIBE
LEAVE = -1
GROUP_CONFIGS = 32


def topic_info(name: str, partitions: int = 0, replicas: int = 0, **configs: str) -> dict[str, Any]:
    """An internal topic; config names have _ for their dots."""
    rows = [{"key": key.replace("_", "."), "value": value} for key, value in configs.items()]
    return {"name": name, "partitions": partitions, "replication_factor": replicas, "topic_configs": rows}


def subtopology(name: str, *sources: str, **fields: Any) -> dict[str, Any]:
    """A subtopology that reads these topics."""
    return {"subtopology_id": name, "source_topics": list(sources), **fields}


def joining(group: str, member: str, *subtopologies: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The fields of a first heartbeat."""
    return {
        "group_id": group,
        "member_id": member,
        "member_epoch": 0,
        "rebalance_timeout_ms": 30_000,
        "topology": {"epoch": fields.pop("topology_epoch", 0), "subtopologies": list(subtopologies)},
        "active_tasks": [],
        "standby_tasks": [],
        "warmup_tasks": [],
        "process_id": f"process-of-{member}",
        "client_tags": [],
        **fields,
    }


def going_on(group: str, member: str, epoch: int, **fields: Any) -> dict[str, Any]:
    """The fields of a heartbeat without news."""
    return {"group_id": group, "member_id": member, "member_epoch": epoch, **fields}


def owning(**numbers: list[int]) -> dict[str, Any]:
    """Return the fields that report a member's tasks: `a0` are active tasks of the subtopology 0, `s0`
    standby tasks.
    """
    found: dict[str, list[dict[str, Any]]] = {"a": [], "s": []}
    for name, partitions in numbers.items():
        found[name[0]].append({"subtopology_id": name[1:], "partitions": partitions})
    return {"active_tasks": found["a"], "standby_tasks": found["s"], "warmup_tasks": []}


def until_stable(play: Play, group: str, member: str, epoch: int) -> int:
    """Heartbeat until nothing is the matter with the group any more; the member's epoch."""
    epochs = [epoch]

    def is_well() -> bool:
        answer = play.do(BEAT, 0, **going_on(group, member, epochs[-1]))
        assert answer.error_code == 0, answer
        epochs.append(answer.member_epoch)
        return not answer.status

    play.until(is_well, "the topics are there")
    return epochs[-1]


def in_order(answer: Any) -> None:
    """Kafka's members and their tags come in the order of its hash tables."""
    for group in answer.groups:
        group.members.sort(key=lambda member: member.member_id)


def epochs_from_that_of_the_group(answer: Any) -> None:
    """When Kafka hears of a group's settings and of new topics, before or after a member, moves its epoch."""
    for group in answer.groups:
        for member in group.members:
            member.member_epoch -= group.group_epoch
        group.assignment_epoch -= group.group_epoch
        group.group_epoch = 0


def describe(play: Play, version: int, *groups: str, **fields: Any) -> None:
    """Describe these groups, and compare the answers."""
    play.call(DESCRIBE, version, group_ids=list(groups), trim=in_order, **fields)


def configure(play: Play, group: str, **settings: str) -> None:
    """Have a group set something for itself; names have _ for their dots."""
    rows = [{"name": f"streams.{key.replace('_', '.')}", "value": value} for key, value in settings.items()]
    resource = {"resource_type": GROUP_CONFIGS, "resource_name": group, "configs": rows}
    answer = play.do(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources=[resource])
    assert not answer.responses[0].error_code, answer


# --- members


@scenario(BEAT)
def streams_group_of_one(play: Play, version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play, partitions=2)
    joined = play.call(BEAT, version, **joining(group, "m", subtopology("0", topic)))
    epoch = joined.member_epoch
    play.call(BEAT, version, **going_on(group, "m", epoch))
    play.call(BEAT, version, **going_on(group, "m", epoch, **owning(a0=[0, 1])))
    describe(play, 0, group)
    play.call(BEAT, version, **going_on(group, "m", 9))
    play.call(BEAT, version, **going_on(group, "m", 1))
    play.call(BEAT, version, **going_on(group, "stranger", 1))
    play.call(BEAT, version, **going_on(group, "m", epoch, **owning(a0=[5])))
    play.call(BEAT, version, **going_on(group, "m", epoch, **owning(a7=[0])))
    play.call(BEAT, version, **joining(group, "m", subtopology("0", topic)))
    news = {"rack_id": "r", "client_tags": [{"key": "k", "value": "v"}]}
    play.call(BEAT, version, **joining(group, "m", subtopology("0", topic), **news))
    describe(play, 0, group)
    play.call(BEAT, version, **going_on(group, "stranger", LEAVE))
    play.call(BEAT, version, **going_on(group, "m", LEAVE))
    play.call(BEAT, version, **going_on(group, "m", LEAVE))
    play.call(BEAT, version, **going_on(group, "m", epoch))
    describe(play, 0, group)
    play.call(BEAT, version, **joining(group, "m", subtopology("0", topic)))


@scenario(BEAT)
def streams_group_of_two(play: Play, version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play, partitions=2)
    whole = subtopology("0", topic)
    first = play.call(BEAT, version, **joining(group, "a", whole)).member_epoch
    second = play.call(BEAT, version, **joining(group, "b", whole)).member_epoch
    second = play.call(BEAT, version, **going_on(group, "b", second, **owning())).member_epoch
    first = play.call(BEAT, version, **going_on(group, "a", first, **owning(a0=[0, 1]))).member_epoch
    describe(play, 0, group)
    play.call(BEAT, version, **going_on(group, "b", second, **owning()))
    play.call(BEAT, version, **going_on(group, "a", first))
    before = first
    first = play.call(BEAT, version, **going_on(group, "a", first, **owning(a0=[0]))).member_epoch
    play.call(BEAT, version, **going_on(group, "a", before, **owning(a0=[0])))
    play.call(BEAT, version, **going_on(group, "a", before, **owning(a0=[1])))
    play.call(BEAT, version, **going_on(group, "a", before))
    second = play.call(BEAT, version, **going_on(group, "b", second, **owning())).member_epoch
    describe(play, 0, group)
    play.call(BEAT, version, **going_on(group, "a", LEAVE))
    second = play.call(BEAT, version, **going_on(group, "b", second, **owning(a0=[1]))).member_epoch
    describe(play, 0, group)


@scenario(BEAT)
def streams_groups_of_threads_and_copies(play: Play, version: int) -> None:
    """Two members of one process, one of another; every task that keeps state has a copy."""
    ready(play)
    group, topic = play.name("g"), known_topic(play, partitions=2)
    configure(play, group, num_standby_replicas="1")
    stateful = subtopology("0", topic, state_changelog_topics=[topic_info(f"{group}-log")])
    epochs = {"a": play.call(BEAT, version, **joining(group, "a", stateful)).member_epoch}
    epochs["a"] = until_stable(play, group, "a", epochs["a"])
    play.call(DESCRIBE, 0, group_ids=[group], trim=epochs_from_that_of_the_group)
    epochs["b"] = play.do(BEAT, version, **joining(group, "b", stateful)).member_epoch
    same = {"process_id": "process-of-a"}
    epochs["c"] = play.do(BEAT, version, **joining(group, "c", stateful, **same)).member_epoch
    owned: dict[str, Any] = {"a": owning(a0=[0, 1]), "b": owning(), "c": owning()}
    for _ in range(5):
        for member in epochs:
            told = play.do(BEAT, version, **going_on(group, member, epochs[member], **owned[member]))
            assert not told.error_code, told
            epochs[member] = told.member_epoch
            if told.active_tasks is not None:
                owned[member] = {
                    "active_tasks": _rows(told.active_tasks),
                    "standby_tasks": _rows(told.standby_tasks),
                    "warmup_tasks": [],
                }
    configure(play, group, num_standby_replicas="0")

    def has_no_copies() -> bool:
        """Whether the group has heard of that, which it does in a heartbeat."""
        play.do(BEAT, version, **going_on(group, "a", epochs["a"], **owned["a"]))
        (told,) = play.do(DESCRIBE, 0, group_ids=[group]).groups
        return not any(member.target_assignment.standby_tasks for member in told.members)

    play.until(has_no_copies, "no task has a copy")

    def only_numbers(answer: Any) -> None:
        """Whose copy is where Kafka's hash tables say."""
        in_order(answer)
        epochs_from_that_of_the_group(answer)
        for member in answer.groups[0].members:
            for assignment in (member.assignment, member.target_assignment):
                for rows in (assignment.active_tasks, assignment.standby_tasks):
                    for row in rows:
                        row.partitions = [len(row.partitions)]

    play.call(DESCRIBE, 0, group_ids=[group], trim=only_numbers)


def _rows(tasks: Any) -> list[dict[str, Any]]:
    return [{"subtopology_id": row.subtopology_id, "partitions": row.partitions} for row in tasks]


@scenario(BEAT)
def streams_heartbeats_that_are_refused(play: Play, version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play)
    whole = subtopology("0", topic)
    offsets = [{"subtopology_id": "0", "partition": 0, "offset": 1}]
    pattern = subtopology("0", topic, source_topic_regex=["a.*"])
    counted = subtopology("0", topic, state_changelog_topics=[topic_info("log", 3)])
    ours = [subtopology("0", "__consumer_offsets", topic), subtopology("1", "__transaction_state")]
    bad = subtopology("0", topic, "no/good", repartition_sink_topics=["not good"])
    tasks = [{"subtopology_id": "0", "partitions": [0]}]
    for fields in (
        {"group_id": ""},
        {"member_id": ""},
        {"member_id": " "},
        {"rack_id": ""},
        {"instance_id": "i"},
        {"instance_id": ""},
        {"task_offsets": offsets},
        {"task_end_offsets": offsets},
        {"warmup_tasks": tasks},
        {"rebalance_timeout_ms": -1},
        {"active_tasks": tasks},
        {"active_tasks": None},
        {"standby_tasks": tasks},
        {"standby_tasks": None},
        {"warmup_tasks": None},
        {"topology": None},
        {"topology": {"epoch": 0, "subtopologies": [pattern]}},
        {"topology": {"epoch": 0, "subtopologies": [counted]}},
        {"topology": {"epoch": 0, "subtopologies": ours}},
        {"topology": {"epoch": 0, "subtopologies": [bad]}},
        {"member_epoch": -2},
        {"member_epoch": -2, "instance_id": "i"},
        {"member_epoch": -3},
        {"member_epoch": 5},
        {"member_epoch": 5, "topology": None},
        {"member_epoch": 5, "topology": None, "standby_tasks": None},
        {"member_epoch": -1, "topology": None},
    ):
        play.call(BEAT, version, **{**joining(group, "m", whole), **fields})


@scenario(BEAT)
def streams_applications_that_end(play: Play, version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play)
    whole = subtopology("0", topic)
    play.call(BEAT, version, **joining(group, "a", whole, shutdown_application=True))
    first = play.call(BEAT, version, **joining(group, "a", whole)).member_epoch
    play.call(BEAT, version, **joining(group, "b", whole))
    first = play.call(BEAT, version, **going_on(group, "a", first, shutdown_application=True)).member_epoch
    play.call(BEAT, version, **going_on(group, "a", first))
    play.call(BEAT, version, **going_on(group, "b", LEAVE, shutdown_application=True))
    play.call(BEAT, version, **going_on(group, "a", first))
    play.call(BEAT, version, **going_on(group, "a", LEAVE))
    play.call(BEAT, version, **joining(group, "a", whole))


@scenario(BEAT)
def streams_endpoints(play: Play, version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play, partitions=2)
    whole = subtopology("0", topic)
    here, there = ({"user_endpoint": {"host": host, "port": 7}} for host in ("here", "there"))
    first = play.call(BEAT, version, **joining(group, "a", whole, **here)).member_epoch
    known = {"endpoint_information_epoch": 0}
    play.call(BEAT, version, **going_on(group, "a", first, **known))
    known = {"endpoint_information_epoch": -1}
    play.call(BEAT, version, **going_on(group, "a", first, **known))
    second = play.call(BEAT, version, **joining(group, "b", whole, **there)).member_epoch
    first = play.call(BEAT, version, **going_on(group, "a", first, **owning(a0=[0, 1]))).member_epoch
    first = play.call(BEAT, version, **going_on(group, "a", first, **owning(a0=[0]))).member_epoch
    second = play.call(BEAT, version, **going_on(group, "b", second, **owning())).member_epoch
    told = play.call(BEAT, version, **going_on(group, "a", first, **known))
    known = {"endpoint_information_epoch": told.endpoint_information_epoch}
    play.call(BEAT, version, **going_on(group, "b", second, **known))
    describe(play, 0, group)
