"""Requests of clients to three brokers about leaders and replicas, also invalid ones: played to a cluster of
ours and to real Kafkas with a ZooKeeper. Requests in the catalogue of one broker are not repeated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from differential.brokers_requests import in_sync, states_of, stopped
from differential.cluster_stage import FIRST, SECOND, THIRD, scene
from differential.written_among_three import a_topic_of_two, too_few_replicas
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from collections.abc import Callable

    from differential.cluster_stage import Stage
    from differential.play import Play

NOBODY = 9
"""A broker that is not there."""
NO_LEADER = -1
TIMEOUT_MS = 10_000
PREFERRED, UNCLEAN = 0, 1
LONG_NAME = "x" * 214
"""Name of a topic, too long for the directory name of a copy."""
PRODUCER = {"producer_id": 7_000_000, "producer_epoch": 3}
"""Id of an idempotent producer; no broker of the cluster gives out ids as large."""

ELECT, MOVE, LIST = (
    ApiKey.ELECT_LEADERS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
)
PLACE, SHOW, FEATURES = ApiKey.ALTER_REPLICA_LOG_DIRS, ApiKey.DESCRIBE_LOG_DIRS, ApiKey.UPDATE_FEATURES
FIRST_WITH_BROKER_EPOCH = {
    ApiKey.LEADER_AND_ISR: 2,
    ApiKey.STOP_REPLICA: 1,
    ApiKey.UPDATE_METADATA: 5,
}


def electing(*rows: tuple[str, list[int]], **fields: Any) -> dict[str, Any]:
    """The fields of ElectLeaders: partitions by topic."""
    asked = [{"topic": topic, "partitions": partitions} for topic, partitions in rows]
    return {"topic_partitions": asked, "election_type": PREFERRED, "timeout_ms": TIMEOUT_MS, **fields}


def moving(topic: str, *rows: tuple[int, list[int] | None]) -> dict[str, Any]:
    """The fields of AlterPartitionReassignments: replicas by partition; None calls a move off."""
    partitions = [{"partition_index": index, "replicas": replicas} for index, replicas in rows]
    return {"topics": [{"name": topic, "partitions": partitions}], "timeout_ms": TIMEOUT_MS}


@scene(ELECT)
def elections_that_change_nothing(stage: Stage, version: int) -> None:
    topic = stage.topic([FIRST, SECOND], [THIRD, FIRST])
    for play in (stage.controller, stage.elsewhere):
        for kind in (PREFERRED, UNCLEAN):
            for rows in (
                [(topic, [0, 1])],
                [(topic, [1, 1])],
                [(topic, [0]), (topic, [0, 1])],
                [(topic, [2, -1])],
                [("none", [0]), ("", [0]), ("a b", [0]), (topic, [0])],
                [(topic, [])],
                [],
            ):
                play.call(ELECT, version, **electing(*rows, election_type=kind))
        play.call(ELECT, version, **electing(topic_partitions=None))
        play.call(ELECT, version, **electing((topic, [0]), timeout_ms=-1))


@scene(ELECT)
def a_preferred_replica_is_elected(stage: Stage, version: int) -> None:
    """The order of its replicas is changed before."""
    topic = stage.topic([FIRST, SECOND], [FIRST, SECOND])
    stage.controller.call(MOVE, 0, **moving(topic, (0, [SECOND, FIRST]), (1, [SECOND, FIRST])))
    for index in (0, 1):
        stage.settle(topic, index, [SECOND, FIRST])
    stage.controller.call(ELECT, version, **electing((topic, [0]), election_type=UNCLEAN))
    stage.controller.call(ELECT, version, **electing((topic, [0])))
    stage.controller.call(ELECT, version, **electing((topic, [0, 1]), ("none", [0])))
    stage.controller.call(ELECT, version, **electing((topic, [0, 1])))


@scene(MOVE)
def moves_that_cannot_be(stage: Stage, version: int) -> None:
    topic = stage.topic([FIRST, SECOND], [THIRD, FIRST])
    for play in (stage.controller, stage.elsewhere):
        for fields in (
            moving(topic, (0, []), (1, [SECOND, SECOND])),
            moving(topic, (0, [-1]), (1, [NOBODY])),
            moving(topic, (0, [FIRST, NOBODY]), (1, None)),
            moving(topic, (2, [FIRST]), (-1, [FIRST]), (2, None)),
            moving(topic, (2, [NOBODY]), (2, [])),
            moving(topic, (0, None), (0, None)),
            moving("none", (0, [FIRST]), (1, None), (2, []), (3, [NOBODY])),
            moving("", (0, [FIRST])),
            moving("a b", (0, None)),
            moving(topic),
            {"topics": [], "timeout_ms": TIMEOUT_MS},
            {"topics": moving(topic, (0, None))["topics"] * 2, "timeout_ms": -1},
        ):
            play.call(MOVE, version, **fields)


@scene(MOVE)
def moves_that_change_nothing(stage: Stage, version: int) -> None:
    topic = stage.topic([FIRST, SECOND], [THIRD, FIRST])
    stage.controller.call(MOVE, version, **moving(topic, (0, [FIRST, SECOND]), (1, [THIRD, FIRST])))
    stage.controller.call(LIST, 0, topics=None, timeout_ms=TIMEOUT_MS)
    stage.controller.call(MOVE, version, **moving(topic, (0, [FIRST, SECOND]), (1, [NOBODY])))
    stage.settle(topic, 0, [FIRST, SECOND])


@scene(LIST)
def moves_are_listed_replaced_and_called_off(stage: Stage, version: int) -> None:
    topic = stage.topic([FIRST, SECOND], [FIRST, SECOND])
    with stage.held_up(topic, 0, 1):
        _move_to_and_fro(stage, version, topic)
    for index in (0, 1):
        stage.settle(topic, index, [FIRST, SECOND])


def _move_to_and_fro(stage: Stage, version: int, topic: str) -> None:
    named = [{"name": topic, "partition_indexes": [0, 1, 2, 0]}, {"name": "none", "partition_indexes": [0]}]
    play = stage.controller

    def listed() -> None:
        for topics in (named, named[1:], [], None):
            play.call(LIST, version, topics=topics, timeout_ms=TIMEOUT_MS)

    listed()
    play.call(MOVE, 0, **moving(topic, (0, [THIRD, SECOND]), (1, [FIRST, THIRD])))
    listed()
    stage.elsewhere.call(LIST, version, topics=None, timeout_ms=TIMEOUT_MS)
    play.call(ELECT, 2, **electing((topic, [0, 1])))
    play.call(ApiKey.CREATE_PARTITIONS, 3, **_more(topic))
    play.call(MOVE, 0, **moving(topic, (0, [THIRD]), (1, [NOBODY])))
    listed()
    play.call(MOVE, 0, **moving(topic, (0, [SECOND, FIRST]), (1, [FIRST, THIRD])))
    listed()
    play.call(MOVE, 0, **moving(topic, (0, [THIRD, FIRST]), (1, None)))
    listed()
    play.call(MOVE, 0, **moving(topic, (0, None), (1, None)))
    listed()


def _more(topic: str) -> dict[str, Any]:
    """The fields of CreatePartitions."""
    return {"topics": [{"name": topic, "count": 5, "assignments": None}], "timeout_ms": TIMEOUT_MS}


@scene(PLACE)
def replicas_that_are_here_elsewhere_and_nowhere(stage: Stage, version: int) -> None:
    topic = stage.topic([FIRST, SECOND], [THIRD, SECOND])
    for broker_id in (FIRST, THIRD):
        play = stage.brokers[broker_id]
        other, data = (stage.directory(broker_id, name) for name in ("other", "data"))
        for dirs in (
            [(other, [(topic, [0, 1])]), (data, [(topic, [0, 1])])],
            [(data, [(topic, [0, 0, 1, 2, -1]), ("none", [0]), (LONG_NAME, [0]), ("", [0]), ("a b", [0])])],
            [(f"{data}/", [(topic, [0, 1])]), ("data", [(topic, [0])]), ("", [(topic, [2])])],
            [(stage.directory(SECOND, "data"), [(topic, [0, 1])])],
            [(other, [(topic, [])])],
            [],
        ):
            rows = [
                {"path": path, "topics": [{"name": name, "partitions": indexes} for name, indexes in topics]}
                for path, topics in dirs
            ]
            play.call(PLACE, version, dirs=rows)


@scene(SHOW)
def directories_of_three(stage: Stage, version: int) -> None:
    topic = stage.topic([FIRST, SECOND], [THIRD, FIRST])
    for play in stage.brokers.values():
        for topics in (
            [{"topic": topic, "partitions": [0, 1, 2, -1, 0]}, {"topic": "none", "partitions": [0]}],
            [{"topic": topic, "partitions": [1]}, {"topic": topic, "partitions": [0]}],
            [{"topic": topic, "partitions": []}],
            [],
        ):
            play.call(SHOW, version, trim=_in_one_directory, topics=topics)


def _in_one_directory(answer: Any) -> None:
    """Which of its directories a broker has chosen is not compared."""
    by_name: dict[str, Any] = {}
    for directory in answer.results:
        for topic in directory.topics:
            if topic.name in by_name:
                by_name[topic.name].partitions += topic.partitions
            else:
                by_name[topic.name] = topic
        directory.topics = []
    answer.results[0].topics = list(by_name.values())


@scene(FEATURES)
def features_elsewhere(stage: Stage, version: int) -> None:
    for names in (["no feature", "nor this", "no feature", ""], []):
        updates = [{"feature": name, "max_version_level": 1} for name in names]
        for play in (stage.controller, stage.elsewhere):
            play.call(FEATURES, version, feature_updates=updates, timeout_ms=TIMEOUT_MS)


@scene(ApiKey.DESCRIBE_CONFIGS)
def configs_are_described_by_every_broker(stage: Stage, version: int) -> None:
    """A broker without a replica of the topic has not been told its configs."""
    topic = stage.topic([FIRST], configs={"cleanup.policy": "compact"})
    asked = {"resource_type": 2, "resource_name": topic, "configuration_keys": ["cleanup.policy"]}
    for broker_id in (FIRST, SECOND, THIRD):
        stage.brokers[broker_id].call(ApiKey.DESCRIBE_CONFIGS, version, resources=[asked])


@scene(ApiKey.DESCRIBE_PRODUCERS)
def producers_are_shown_by_every_replica(stage: Stage, version: int) -> None:
    topic = stage.topic([FIRST, SECOND])
    for sequence in (0, 1):
        stage.brokers[FIRST].append(topic, b"v", base_sequence=sequence, times=[1000], **PRODUCER)
    for play in stage.brokers.values():
        play.call(ApiKey.DESCRIBE_PRODUCERS, version, topics=[{"name": topic, "partition_indexes": [0, 1]}])


@scene(ApiKey.LEADER_AND_ISR)
def roles_from_a_former_controller(stage: Stage, version: int) -> None:
    _tell_as_former(
        stage, ApiKey.LEADER_AND_ISR, version, lambda play, topic: states_of(play, [topic, "none"])
    )


@scene(ApiKey.UPDATE_METADATA)
def metadata_from_a_former_controller(stage: Stage, version: int) -> None:
    _tell_as_former(
        stage, ApiKey.UPDATE_METADATA, version, lambda play, topic: states_of(play, [topic, "none"])
    )


@scene(ApiKey.STOP_REPLICA)
def an_end_from_a_former_controller(stage: Stage, version: int) -> None:
    _tell_as_former(stage, ApiKey.STOP_REPLICA, version, lambda _, topic: stopped([topic, "none"], [0, 3]))


def _tell_as_former(
    stage: Stage, key: ApiKey, version: int, fields: Callable[[Play, str], dict[str, Any]]
) -> None:
    """Tell a broker, as the controller of an earlier epoch, or what is meant for its former process."""
    topic = stage.topic([FIRST, SECOND])
    play = stage.brokers[FIRST]
    for former in (
        {"controller_id": FIRST, "controller_epoch": 0, "broker_epoch": -1},
        {"controller_id": NOBODY, "controller_epoch": 1_000_000, "broker_epoch": 0},
    ):
        if version >= FIRST_WITH_BROKER_EPOCH[key] or not former["controller_epoch"]:
            play.call(key, version, **former, **fields(play, topic))
            play.call(key, version, **former)


@scene(ApiKey.ALTER_PARTITION)
def an_isr_from_nobody(stage: Stage, version: int) -> None:
    topic = stage.topic([FIRST, SECOND])
    for play in (stage.controller, stage.elsewhere):
        for who in ({"broker_id": NOBODY, "broker_epoch": 0}, {"broker_id": FIRST, "broker_epoch": 0}):
            play.call(ApiKey.ALTER_PARTITION, version, **who, **in_sync(play, [topic, "none"]))


@scene(ApiKey.CONTROLLED_SHUTDOWN)
def nobody_shuts_down(stage: Stage, version: int) -> None:
    for play in (stage.controller, stage.elsewhere):
        play.call(ApiKey.CONTROLLED_SHUTDOWN, version, broker_id=NOBODY, broker_epoch=-1)


@scene(ApiKey.ALLOCATE_PRODUCER_IDS)
def producer_ids_for_nobody(stage: Stage, version: int) -> None:
    for play in (stage.controller, stage.elsewhere):
        for broker_id in (NOBODY, FIRST):
            play.call(ApiKey.ALLOCATE_PRODUCER_IDS, version, broker_id=broker_id, broker_epoch=0)


def without_the_third(stage: Stage) -> None:
    """Elections and moves while a broker is away, which stays away."""
    topic = stage.topic([THIRD, FIRST], [FIRST, THIRD])
    lone = stage.topic([THIRD])
    thin = a_topic_of_two(stage)
    stage.lose(THIRD, (topic, 0, FIRST), (topic, 1, FIRST), (lone, 0, NO_LEADER), (thin, 0, FIRST))
    too_few_replicas(stage, thin)
    play = stage.controller
    for kind in (PREFERRED, UNCLEAN):
        for rows in ([(topic, [0, 1])], [(lone, [0])], [(lone, [0, 1]), (topic, [0])]):
            play.call(ELECT, 2, **electing(*rows, election_type=kind))
    play.call(ELECT, 0, **electing((topic, [0]), (lone, [0])))
    for moves in (
        [(0, [THIRD, FIRST]), (1, [SECOND, THIRD])],
        [(0, [SECOND, NOBODY]), (1, [THIRD, SECOND])],
        [(0, None), (1, None)],
        [(0, [FIRST]), (1, None)],
    ):
        play.call(MOVE, 0, **moving(topic, *moves))
        play.call(LIST, 0, topics=None, timeout_ms=TIMEOUT_MS)
