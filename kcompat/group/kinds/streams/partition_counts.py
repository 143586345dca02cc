"""Numbers of partitions for the internal topics of a topology. Pure.

Kafka's counterparts: `RepartitionTopics`, `CopartitionedTopicsEnforcer`, `ChangelogTopics`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.group.modern.topics import java_order

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kcompat.group.kinds.streams.topology import Subtopology, Topology


class InvalidTopologyError(Exception):
    """No set of topics could satisfy the topology."""


class WronglyPartitionedError(Exception):
    """Existing topics do not have the numbers of partitions that the topology requires."""


class PartitionCounts(Struct):
    """Numbers of partitions by topic: those of existing topics, and those decided for internal topics."""

    existing: Mapping[str, int]
    decided: dict[str, int]

    def known(self, topic: str) -> int:
        """Return the number of partitions of a topic that exists or whose number was decided."""
        count = self.existing.get(topic)
        return self.decided[topic] if count is None else count

    def largest(self, topics: Iterable[str]) -> int:
        """Return the number of partitions of the largest of these topics."""
        return max(map(self.known, topics))


def decide(topology: Topology, existing: Mapping[str, int]) -> PartitionCounts:
    """Decide the numbers of partitions of all internal topics; `existing` has every source topic.

    Raises InvalidTopologyError if no topics could satisfy the topology, and WronglyPartitionedError if
    existing topics have other numbers of partitions than it requires.
    """
    subtopologies = topology.subtopologies.values()
    counts = PartitionCounts(existing, {})
    _decide_repartition_topics(subtopologies, counts)
    fixed, flexible = _repartition_topics(subtopologies)
    for subtopology in subtopologies:
        for names in _copartition_groups(subtopology):
            counts.decided.update(_copartitioned(names, fixed, flexible, counts))
    for subtopology in subtopologies:
        topics = list(subtopology.read_topics())
        if not topics:
            raise InvalidTopologyError(f"No source topics found for subtopology {subtopology.subtopology_id}")
        for changelog in subtopology.state_changelog_topics:
            counts.decided[changelog.name] = counts.largest(topics)
    return counts


# --- repartition topics


def _decide_repartition_topics(subtopologies: Collection[Subtopology], counts: PartitionCounts) -> None:
    decided = counts.decided
    sources = [topic for each in subtopologies for topic in each.repartition_source_topics]
    decided.update((topic.name, topic.partitions) for topic in sources if topic.partitions)
    open_sinks = [
        (name, each) for each in subtopologies for name in each.repartition_sink_topics if name not in decided
    ]
    while open_sinks:
        still_open = []
        for name, writer in open_sinks:
            count = _of_writer(writer, counts)
            if count is None:
                still_open.append((name, writer))
            else:
                decided.setdefault(name, count)
        if len(still_open) == len(open_sinks):
            raise InvalidTopologyError(
                "Failed to compute number of partitions for all repartition topics. There may be loops in "
                "the topology that cannot be resolved."
            )
        open_sinks = still_open
    if any(topic.name not in decided for topic in sources):
        raise InvalidTopologyError(
            "Failed to compute number of partitions for all repartition topics, because a repartition source "
            "topic is never used as a sink topic."
        )


def _of_writer(writer: Subtopology, counts: PartitionCounts) -> int | None:
    """Return the largest number of partitions among the source topics of a subtopology that writes to a
    repartition topic; None if no number is known.
    """
    names = [topic.name for topic in writer.repartition_source_topics]
    known = [counts.decided[name] for name in names if name in counts.decided]
    known += (counts.existing[name] for name in writer.source_topics)
    return max(known, default=None)


def _repartition_topics(subtopologies: Iterable[Subtopology]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the repartition topics whose number of partitions the application sets, and the others."""
    topics = [topic for each in subtopologies for topic in each.repartition_source_topics]
    return (
        frozenset(topic.name for topic in topics if topic.partitions),
        frozenset(topic.name for topic in topics if not topic.partitions),
    )


# --- topics that are read together


def _copartition_groups(subtopology: Subtopology) -> Iterable[frozenset[str]]:
    sources = subtopology.source_topics
    repartitioned = subtopology.repartition_source_topics
    for group in subtopology.copartition_groups:
        if not _are_places(group.source_topics, sources) or not _are_places(
            group.repartition_source_topics, repartitioned
        ):
            raise InvalidTopologyError(
                f"A copartition group of subtopology {subtopology.subtopology_id} has a topic that the "
                "subtopology does not have."
            )
        names = [sources[place] for place in group.source_topics]
        yield frozenset(names + [repartitioned[place].name for place in group.repartition_source_topics])


def _are_places(places: Iterable[int], topics: Collection[object]) -> bool:
    """Return whether `places` are valid indices into `topics`; Python would count negative ones
    from the end.
    """
    return all(0 <= place < len(topics) for place in places)


def _copartitioned(
    names: frozenset[str], fixed: frozenset[str], flexible: frozenset[str], counts: PartitionCounts
) -> dict[str, int]:
    """Return the numbers of partitions for the repartition topics among `names`, which are copartitioned."""
    if not names:
        return {}
    repartitioned = {name: counts.known(name) for name in names & (fixed | flexible)}
    external = {name: counts.known(name) for name in names - repartitioned.keys()}
    if external:
        count = _common(external, external)
    elif fixed:
        # As in Kafka, all topics in `fixed` must agree, not only the copartitioned ones.
        count = _common({name: counts.known(name) for name in fixed}, repartitioned)
    else:
        count = max(repartitioned.values())
    for name in sorted(fixed & repartitioned.keys(), key=java_order):
        if repartitioned[name] != count:
            raise WronglyPartitionedError(
                f"Number of partitions [{repartitioned[name]}] of repartition topic [{name}] doesn't match "
                f"number of partitions [{count}] of the source topic."
            )
    return dict.fromkeys(repartitioned, count)


def _common(compared: Mapping[str, int], shown: Mapping[str, int]) -> int:
    """Return the number of partitions that all topics in `compared` have; the error lists the topics in
    `shown`.
    """
    numbers = set(compared.values())
    if len(numbers) > 1:
        rows = ", ".join(f"{name}={shown[name]}" for name in sorted(shown, key=java_order))
        raise WronglyPartitionedError(
            f"Following topics do not have the same number of partitions: [{{{rows}}}]"
        )
    return numbers.pop()
