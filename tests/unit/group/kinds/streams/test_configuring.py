"""How a topology is laid out on topics: numbers of tasks and partitions, and what does not fit."""

from __future__ import annotations

import pytest

from kcompat.cluster.image import ClusterImage, PartitionInfo, TopicImage
from kcompat.group.kinds.streams.configured import ConfiguredTopology, InternalTopic, StatusCode
from kcompat.group.kinds.streams.configuring import configure
from kcompat.group.kinds.streams.partition_counts import InvalidTopologyError
from kcompat.group.kinds.streams.topology import CopartitionGroup, Subtopology, TopicInfo, Topology
from support.streams_groups import reads, topology

LEADS = PartitionInfo(leader=1, leader_epoch=0, isr=(1,), replicas=(1,))
BOTH_SOURCES = (CopartitionGroup(source_topics=(0, 1)),)
SOURCE_AND_REPARTITION = (CopartitionGroup(source_topics=(0,), repartition_source_topics=(0,)),)
BEFORE_THE_FIRST = (CopartitionGroup(source_topics=(0, -1)),)
BOTH_REPARTITIONS = (CopartitionGroup(repartition_source_topics=(0, 1)),)


def on_topics(whole: Topology, **counts: int) -> ConfiguredTopology:
    """The topology where there are these topics with so many partitions."""
    topics = [
        TopicImage(name, name.encode().ljust(16), dict.fromkeys(range(count), LEADS))
        for name, count in counts.items()
    ]
    return configure(whole, ClusterImage("cluster").with_topics(topics))


def writes(subtopology: Subtopology, *topics: str) -> Subtopology:
    """The subtopology, writing these repartition topics."""
    return type(subtopology)(
        subtopology.subtopology_id, subtopology.source_topics, repartition_sink_topics=topics
    )


def joined(name: str, *between: TopicInfo, sources: tuple[str, ...] = (), **fields: object) -> Subtopology:
    """A subtopology that reads repartition topics, beside others."""
    return reads(*sources, name=name, repartition_source_topics=between, **fields)


def missing(found: ConfiguredTopology) -> dict[str, int]:
    """The partitions of the topics to make."""
    return {name: topic.partitions for name, topic in found.missing.items()}


def problem(found: ConfiguredTopology) -> tuple[StatusCode, str] | None:
    """Return code and detail of the topology's problem; None if it has none."""
    return None if found.problem is None else (found.problem.code, found.problem.detail)


def tasks(found: ConfiguredTopology) -> dict[str, int]:
    """The number of tasks of each subtopology."""
    assert found.subtopologies is not None
    return {name: each.tasks for name, each in found.subtopologies.items()}


def test_a_task_for_each_partition_of_the_largest_source() -> None:
    found = on_topics(topology(reads("a", "b"), reads("c", name="1")), a=1, b=3, c=2)
    assert found.is_ready
    assert tasks(found) == {"0": 3, "1": 2}


def test_a_changelog_has_a_partition_for_each_task() -> None:
    log = TopicInfo("log", replication_factor=2, configs=(("cleanup.policy", "compact"),))
    whole = topology(reads("a", state_changelog_topics=(log,)))
    found = on_topics(whole, a=3)
    assert found.missing == {"log": InternalTopic("log", 3, 2, (("cleanup.policy", "compact"),))}
    assert problem(found) == (StatusCode.MISSING_INTERNAL_TOPICS, "Internal topics are missing: log")
    assert on_topics(whole, a=3, log=3).is_ready
    assert problem(on_topics(whole, a=3, log=2)) == (
        StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
        "Existing topic log has different number of partitions: expected 3, found 2",
    )


def test_a_repartition_topic_is_as_large_as_what_its_writer_reads() -> None:
    whole = topology(
        writes(reads("a", "b"), "x"),
        Subtopology("1", repartition_sink_topics=("y",), repartition_source_topics=(TopicInfo("x"),)),
        joined("2", TopicInfo("y")),
    )
    found = on_topics(whole, a=2, b=5)
    assert missing(found) == {"x": 5, "y": 5}
    assert tasks(found) == {"0": 5, "1": 5, "2": 5}


def test_a_repartition_topic_may_say_its_number() -> None:
    found = on_topics(topology(writes(reads("a"), "x"), joined("1", TopicInfo("x", 7))), a=2)
    assert (missing(found), tasks(found)) == ({"x": 7}, {"0": 2, "1": 7})


def test_what_is_read_beside_a_source_has_its_number() -> None:
    whole = topology(
        writes(reads("a"), "x"),
        joined("1", TopicInfo("x"), sources=("b",), copartition_groups=SOURCE_AND_REPARTITION),
    )
    assert missing(on_topics(whole, a=5, b=2)) == {"x": 2}


def test_what_is_read_together_has_one_number() -> None:
    def whole(*between: TopicInfo) -> Topology:
        return topology(
            writes(reads("a", name="0"), "x"),
            writes(reads("b", name="1"), "y"),
            joined("2", *between, copartition_groups=BOTH_REPARTITIONS),
        )

    assert missing(on_topics(whole(TopicInfo("x"), TopicInfo("y")), a=2, b=5)) == {"x": 5, "y": 5}
    assert missing(on_topics(whole(TopicInfo("x", 3), TopicInfo("y")), a=2, b=5)) == {"x": 3, "y": 3}
    assert problem(on_topics(whole(TopicInfo("x", 3), TopicInfo("y", 4)), a=2, b=5)) == (
        StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
        "Following topics do not have the same number of partitions: [{x=3, y=4}]",
    )


def test_sources_that_are_read_together_must_agree() -> None:
    whole = topology(reads("a", "b", copartition_groups=BOTH_SOURCES))
    assert on_topics(whole, a=2, b=2).is_ready
    found = on_topics(whole, a=2, b=3)
    assert found.subtopologies is None
    assert problem(found) == (
        StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
        "Following topics do not have the same number of partitions: [{a=2, b=3}]",
    )


def test_a_number_that_is_said_does_not_go_with_a_source() -> None:
    between = joined("1", TopicInfo("x", 3), sources=("b",), copartition_groups=SOURCE_AND_REPARTITION)
    assert problem(on_topics(topology(writes(reads("a"), "x"), between), a=1, b=2)) == (
        StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
        "Number of partitions [3] of repartition topic [x] doesn't match number of partitions [2] of the "
        "source topic.",
    )


def test_an_empty_copartition_group_asks_for_nothing() -> None:
    assert on_topics(topology(reads("a", copartition_groups=(CopartitionGroup(),))), a=1).is_ready


def test_three_of_the_missing_topics_are_named() -> None:
    found = on_topics(topology(reads("a", "b", "c", "d", "e")), a=1)
    assert problem(found) == (
        StatusCode.MISSING_SOURCE_TOPICS,
        "Source topics b, c, d and 1 additional topics are missing.",
    )


@pytest.mark.parametrize(
    ("whole", "message"),
    [
        (topology(joined("0", TopicInfo("x"), repartition_sink_topics=("x",))), "There may be loops"),
        (topology(joined("0", TopicInfo("x"), sources=("a",))), "never used as a sink topic"),
        (topology(reads(name="0")), "No source topics found for subtopology 0"),
        (topology(reads("a", copartition_groups=BOTH_SOURCES)), "copartition group of subtopology 0"),
        (topology(reads("a", copartition_groups=BEFORE_THE_FIRST)), "copartition group of subtopology 0"),
        (topology(writes(reads("a"), "x"), joined("1", TopicInfo("x", -2))), "cannot have -2 partitions"),
    ],
)
def test_what_no_topics_would_do_for(whole: Topology, message: str) -> None:
    with pytest.raises(InvalidTopologyError, match=message):
        on_topics(whole, a=1)
