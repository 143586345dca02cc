"""Sentences about the reason why a consumer got no records although its requests succeeded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcompat.testing.story.evidence import client_of, counted
from kcompat.testing.story.traffic import offsets_read, produced, started_at_the_end

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.testing.story.evidence import Evidence, Place


def read_from_the_end(evidence: Evidence) -> Iterator[str]:
    """Yield the partitions that clients began to read after existing records."""
    with_group = {asked.client_id for asked in evidence.in_test if asked.group}
    for asked, place, offset in started_at_the_end(evidence):
        start, _ = evidence.offsets(place)
        if offset > max(start, 0):
            no_offset = (
                "its group had no committed offset there"
                if asked.client_id in with_group
                else "it has no group, so no committed offset"
            )
            yield (
                f"{client_of(asked)} began to read {place[0]}-{place[1]} at its end, offset {offset}, so it "
                f"skipped {counted(offset - max(start, 0), 'record')}: {no_offset}, and "
                f"auto.offset.reset is latest. Set auto.offset.reset=earliest."
            )


def committed_at_the_end(evidence: Evidence) -> Iterator[str]:
    """Yield the partitions whose records a group had all committed before its new member joined."""
    seen: set[tuple[str, Place]] = set()
    for asked, request, response in evidence.answered("OffsetFetch"):
        for group, place, committed in _committed(evidence, request, response):
            start, end = evidence.offsets(place)
            is_first = (asked.peer, place) not in seen
            seen.add((asked.peer, place))
            if is_first and committed >= end > max(start, 0):
                yield (
                    f"{client_of(asked)} goes on behind the last record of {place[0]}-{place[1]}: its group "
                    f"{group} had committed offset {committed} there, which is the end. Use a group of its "
                    f"own for each test, or seek to the beginning."
                )


def _committed(
    evidence: Evidence, request: dict[str, Any], response: dict[str, Any]
) -> Iterator[tuple[str, Place, int]]:
    """Yield each committed offset in an answer, with its group and partition."""
    groups = response.get("groups") or [{**response, "group_id": request.get("group_id", "")}]
    for group in groups:
        for topic in group.get("topics") or ():
            for fields in topic["partitions"]:
                place = (evidence.topic_of(topic), fields["partition_index"])
                yield group["group_id"], place, fields["committed_offset"]


def near_names(evidence: Evidence) -> Iterator[str]:
    """Yield the topics that were written and not read, while an empty topic of similar name was read."""
    written = {topic for topic, _ in produced(evidence)}
    read = {topic for (topic, _), read in offsets_read(evidence).items() if read.end > read.begin}
    for topic in sorted(written - read):
        for name, other in evidence.topics.items():
            is_empty = all(each.end_offset == 0 for each in other.partitions)
            if is_empty and is_typo(topic, name):
                yield (
                    f"{topic} was written in this test and not read, and {name} is empty: did you mean the "
                    f"same topic? The broker creates a topic of any name that a client asks for."
                )


def without_brokers(evidence: Evidence) -> Iterator[str]:
    """Yield the partitions of the test whose replicas are all on brokers that are not running."""
    names = dict.fromkeys(topic for asked in evidence.requests for topic in asked.topics)
    for name in names:
        for each in evidence.topics[name].partitions if name in evidence.topics else ():
            if evidence.stopped.issuperset(each.replicas) and each.leader not in each.replicas:
                brokers = ", ".join(map(str, each.replicas))
                what = (
                    f"one replica, broker {brokers}, which is"
                    if len(each.replicas) == 1
                    else f"replicas on the brokers {brokers}, which are"
                )
                yield (
                    f"{name}-{each.index} has {what} not running: start it again, or create the topic with "
                    f"more replicas."
                )


def is_typo(name: str, other: str) -> bool:
    """Return whether two names differ by one letter that is missing, wrong, or swapped with the next one.
    Different digits do not count as a misspelling, since they number topics.
    """
    if name == other or abs(len(name) - len(other)) > 1:
        return False
    short, long = sorted((name, other), key=len)
    at = next((index for index, letter in enumerate(short) if letter != long[index]), len(short))
    if len(short) < len(long):
        changed, is_near = long[at], short[at:] == long[at + 1 :]
    else:
        changed = short[at] + long[at]
        is_swap = short[at : at + 2] == long[at : at + 2][::-1] and short[at + 2 :] == long[at + 2 :]
        is_near = short[at + 1 :] == long[at + 1 :] or is_swap
    return is_near and not any(letter.isdecimal() for letter in changed)
