"""Topologies of streams groups, and the topics that they need (KIP-1071)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from differential.catalogue import scenario
from differential.members import ready
from differential.scenarios.consumer_groups import known_topic
from differential.scenarios.streams_groups import (
    BEAT,
    describe,
    going_on,
    joining,
    owning,
    subtopology,
    topic_info,
    until_stable,
)
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from differential.play import Play


@scenario(BEAT)
def streams_topologies_that_change(play: Play, version: int) -> None:
    ready(play)
    group, one, two = play.name("g"), known_topic(play, "one"), known_topic(play, "two")
    play.call(BEAT, version, **joining(group, "m", subtopology("0", one), topology_epoch=3))
    play.call(BEAT, version, **joining(group, "n", subtopology("0", two), topology_epoch=3))
    play.call(BEAT, version, **joining(group, "n", subtopology("0", one), topology_epoch=4))
    behind = play.call(BEAT, version, **joining(group, "n", subtopology("0", two), topology_epoch=2))
    play.call(BEAT, version, **going_on(group, "n", behind.member_epoch))
    describe(play, 0, group)


@scenario(BEAT)
def streams_topics_that_are_missing(play: Play, version: int) -> None:
    ready(play)
    group = play.name("g")
    whole = subtopology("0", f"{group}-in", state_changelog_topics=[topic_info(f"{group}-log")])
    joined = play.call(BEAT, version, **joining(group, "m", whole))
    describe(play, 0, group)
    epoch = play.call(BEAT, version, **going_on(group, "m", joined.member_epoch)).member_epoch
    play.topic("g-in", partitions=3)
    epoch = until_stable(play, group, "m", epoch)
    play.call(BEAT, version, **going_on(group, "m", epoch))
    describe(play, 0, group)
    described = play.do(ApiKey.METADATA, 9, topics=[{"name": f"{group}-log"}])
    play.note("partitions of the changelog", len(described.topics[0].partitions))
    play.do(ApiKey.DELETE_TOPICS, 4, topic_names=[f"{group}-in"], timeout_ms=10_000)
    epochs = [epoch]

    def is_missed() -> bool:
        answer = play.do(BEAT, 0, **going_on(group, "m", epochs[-1], **owning()))
        epochs.append(answer.member_epoch)
        return bool(answer.status)

    play.until(is_missed, "the topic is missed")
    play.call(BEAT, version, **going_on(group, "m", epochs[-1]))
    describe(play, 0, group)


def application(group: str, topic: str) -> list[dict[str, Any]]:
    """Two subtopologies, with a repartition topic between them, and a changelog."""
    between = topic_info(f"{group}-repartition", cleanup_policy="delete", segment_bytes="52428800")
    log = topic_info(f"{group}-changelog", replicas=1, cleanup_policy="compact")
    copartition = {"source_topics": [], "source_topic_regex": [], "repartition_source_topics": [0]}
    return [
        subtopology("0", topic, repartition_sink_topics=[f"{group}-repartition"]),
        subtopology(
            "1",
            repartition_source_topics=[between],
            state_changelog_topics=[log],
            copartition_groups=[copartition],
        ),
    ]


@scenario(BEAT)
def streams_topics_that_are_made(play: Play, version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play, partitions=3)
    subtopologies = application(group, topic)
    joined = play.do(BEAT, version, **joining(group, "m", *subtopologies))
    epoch = until_stable(play, group, "m", joined.member_epoch)
    play.call(BEAT, version, **joining(group, "m", *subtopologies))
    describe(play, 0, group)
    for name in ("repartition", "changelog"):
        described = play.do(ApiKey.METADATA, 9, topics=[{"name": f"{group}-{name}"}])
        play.note(name, len(described.topics[0].partitions))
        keys = ["cleanup.policy", "segment.bytes"]
        asked = {"resource_type": 2, "resource_name": f"{group}-{name}", "configuration_keys": keys}
        configs = play.do(ApiKey.DESCRIBE_CONFIGS, 4, resources=[asked]).results[0].configs
        play.note("configs", sorted((row.name, row.value, row.config_source) for row in configs))
    play.call(BEAT, version, **going_on(group, "m", epoch))


@scenario(BEAT)
def streams_topics_that_do_not_fit(play: Play, version: int) -> None:
    ready(play)
    one, two = known_topic(play, "one", partitions=1), known_topic(play, "two", partitions=2)
    both = {"source_topics": [0, 1], "source_topic_regex": [], "repartition_source_topics": []}
    mixed = {"source_topics": [0], "source_topic_regex": [], "repartition_source_topics": [0]}
    twice = {"source_topics": [], "source_topic_regex": [], "repartition_source_topics": [0, 1]}
    group = play.name("g")

    def between(number: int = 0, name: str = "between") -> dict[str, Any]:
        return topic_info(f"{group}-{name}", number)

    def sink(*names: str) -> dict[str, Any]:
        return {"repartition_sink_topics": [f"{group}-{name}" for name in names]}

    for number, subtopologies in enumerate(
        (
            [subtopology("0", one, two, copartition_groups=[both])],
            [
                subtopology("0", two, **sink("between")),
                subtopology("1", one, repartition_source_topics=[between(3)], copartition_groups=[mixed]),
            ],
            [
                subtopology("0", two, **sink("between", "beside")),
                subtopology(
                    "1",
                    repartition_source_topics=[between(3), between(4, "beside")],
                    copartition_groups=[twice],
                ),
            ],
            [subtopology("0", one, state_changelog_topics=[topic_info(two)])],
            [subtopology("0", **sink("a"), repartition_source_topics=[between(0, "a")])],
            [subtopology("0", one, repartition_source_topics=[between(0, "a")])],
            [subtopology("0", one), subtopology("1", state_changelog_topics=[topic_info(f"{group}-log")])],
        )
    ):
        play.call(BEAT, version, **joining(f"{group}{number}", "m", *subtopologies))
        describe(play, 0, f"{group}{number}")


@scenario(BEAT)
def streams_heartbeats_that_stump_kafka(play: Play, version: int) -> None:
    ready(play)
    group, topic = play.name("g"), known_topic(play)
    there = {"user_endpoint": {"host": "there", "port": 7}}
    play.call(BEAT, version, **joining(f"{group}0", "m", subtopology("0", "absent"), **there))
    beyond = {"source_topics": [5], "source_topic_regex": [], "repartition_source_topics": []}
    play.call(
        BEAT, version, **joining(f"{group}1", "m", subtopology("0", topic, copartition_groups=[beyond]))
    )
    negative = [topic_info(f"{group}-between", -1)]
    sink = {"repartition_sink_topics": [f"{group}-between"]}
    play.call(
        BEAT,
        version,
        **joining(f"{group}2", "m", subtopology("0", topic, repartition_source_topics=negative, **sink)),
    )
