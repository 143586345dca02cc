"""The uniform assignor for members that subscribe to different topics.

First each member keeps its partitions of its topics. Then each free partition goes to the least loaded
subscriber. Finally partitions move from the most to the least loaded subscriber, as long as that improves the
balance. Kafka's counterpart: `UniformHeterogeneousAssignmentBuilder`.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.group.assignors.spec import GroupSpec

MAX_ROUNDS = 16
"""Maximum number of passes over all topics to balance them: enough in practice, and a bound for the worst
case.
"""


def assign_uneven(spec: GroupSpec) -> dict[str, dict[bytes, frozenset[int]]]:
    """Return the next targets of members that subscribe to different topics."""
    return _Sharing(spec).targets()


class _Sharing:
    """Assignment in progress: members by their index in the order of member ids; owners of partitions by
    topic, None for partitions without an owner.
    """

    def __init__(self, spec: GroupSpec) -> None:
        self._ids = sorted(spec.members)
        self._load = [0] * len(self._ids)
        self._subscribers: dict[bytes, list[int]] = {}
        self._owners: dict[bytes, list[int | None]] = {}
        for place, member_id in enumerate(self._ids):
            member = spec.members[member_id]
            for topic_id in member.topics:
                self._subscribers.setdefault(topic_id, []).append(place)
                self._owners.setdefault(topic_id, [None] * spec.partition_counts[topic_id])
            for topic_id in member.topics & member.target.keys():
                owners = self._owners[topic_id]
                for index in member.target[topic_id]:
                    if index < len(owners) and owners[index] is None:
                        owners[index] = place
                        self._load[place] += 1

    def targets(self) -> dict[str, dict[bytes, frozenset[int]]]:
        """Assign the partitions and return the targets."""
        for topic_id in self._in_order(self._owners):
            self._give_out(topic_id)
        self._balance()
        found: list[dict[bytes, set[int]]] = [{} for _ in self._ids]
        for topic_id, owners in self._owners.items():
            for index, owner in enumerate(owners):
                assert owner is not None
                found[owner].setdefault(topic_id, set()).add(index)
        return {
            member_id: {topic_id: frozenset(indexes) for topic_id, indexes in mine.items()}
            for member_id, mine in zip(self._ids, found, strict=True)
        }

    def _in_order(self, topics: Iterable[bytes]) -> list[bytes]:
        """Return the topics in the order of assignment: those with the most partitions for each subscriber
        first.
        """

        def key(topic_id: bytes) -> tuple[float, int, bytes]:
            subscribers = len(self._subscribers[topic_id])
            return -len(self._owners[topic_id]) / subscribers, subscribers, topic_id

        return sorted(topics, key=key)

    def _give_out(self, topic_id: bytes) -> None:
        """Assign each partition without an owner to the subscriber with the fewest partitions."""
        owners = self._owners[topic_id]
        free = [index for index, owner in enumerate(owners) if owner is None]
        if not free:
            return
        least = [(self._load[place], place) for place in self._subscribers[topic_id]]
        heapify(least)
        for index in free:
            load, place = heappop(least)
            owners[index] = place
            self._load[place] = load + 1
            heappush(least, (load + 1, place))

    def _balance(self) -> None:
        """Rebalance topic by topic, until no topic has changed since its last pass."""
        topics = self._in_order(topic_id for topic_id, found in self._subscribers.items() if len(found) > 1)
        unchanged = 0
        for _ in range(MAX_ROUNDS):
            for topic_id in topics:
                unchanged = 0 if self._even_out(topic_id) else unchanged + 1
                if unchanged == len(topics):
                    return

    def _even_out(self, topic_id: bytes) -> bool:
        """Move partitions of a topic from the most to the least loaded subscribers until their loads are
        even.

        Returns whether a partition was moved.
        """
        load, owners = self._load, self._owners[topic_id]
        subscribers = self._subscribers[topic_id]
        if max(load[place] for place in subscribers) - min(load[place] for place in subscribers) <= 1:
            return False
        held: dict[int, list[int]] = {}
        for index, owner in enumerate(owners):
            assert owner is not None
            held.setdefault(owner, []).append(index)
        least = [(load[place], place) for place in subscribers]
        most = [(-load[place], -place) for place in subscribers if place in held]
        heapify(least)
        heapify(most)
        moved = False
        while most and -most[0][0] - least[0][0] > 1:
            _, negated = heappop(most)
            giver = -negated
            size, taker = heappop(least)
            owners[held[giver].pop()] = taker
            load[giver] -= 1
            load[taker] = size + 1
            heappush(least, (size + 1, taker))
            if held[giver]:
                heappush(most, (-load[giver], -giver))
            moved = True
        return moved
