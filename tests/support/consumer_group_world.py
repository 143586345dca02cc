"""Consumer groups on a coordinator in memory: topics that come and grow, and members that heartbeat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcompat.cluster.image import BrokerInfo, ClusterImage, PartitionInfo, TopicImage
from kcompat.group.kinds.consumer.group import ConsumerGroup
from kcompat.group.kinds.consumer.requests import HeartbeatRequest
from support.group_world import GROUP, GroupWorld

if TYPE_CHECKING:
    from kcompat.group.coordinator_config import GroupCoordinatorConfig
    from kcompat.group.modern.answer import HeartbeatAnswer
    from kcompat.promise import Promise

REBALANCE_MS = 60_000
SESSION_MS = 45_000
LEADS = PartitionInfo(leader=1, leader_epoch=0, isr=(1,), replicas=(1,))


def topic_id(name: str) -> bytes:
    """The id of a topic of this name."""
    return name.encode().ljust(16, b".")


class ConsumerGroupWorld(GroupWorld):
    """One broker's group coordinator, with the two topics `t` and `u`."""

    def __init__(self, config: GroupCoordinatorConfig | None = None) -> None:
        super().__init__(config)
        self.image = ClusterImage("cluster", brokers={1: BrokerInfo(1, None, {})})
        self.make("t", 3)
        self.make("u", 2)
        self.members: dict[str, dict[bytes, frozenset[int]]] = {}
        """What each member owns, as it was told last."""
        self.epochs: dict[str, int] = {}

    def make(self, name: str, partitions: int) -> None:
        """Make a topic, or let one grow."""
        topic = TopicImage(name, topic_id(name), dict.fromkeys(range(partitions), LEADS))
        self.show(self.image.with_topics([topic]))

    def delete(self, name: str) -> None:
        """Delete a topic."""
        self.show(self.image.with_topics([], [name]))

    def show(self, image: ClusterImage) -> None:
        """Have the coordinator hear of another picture of the cluster."""
        old, self.image = self.image, image
        if len(image.topics) > len(old.topics):
            self.coordinator.topics_made()

    def ask_beat(self, member_id: str, epoch: int = 0, **fields: Any) -> Promise[HeartbeatAnswer]:
        """ConsumerGroupHeartbeat."""
        return self.coordinator.consumer_heartbeat(
            HeartbeatRequest(
                **{
                    "group_id": GROUP,
                    "member_id": member_id,
                    "member_epoch": epoch,
                    "client_id": "client",
                    "client_host": "/127.0.0.1",
                    "may_describe": lambda _topic: True,
                    **fields,
                }
            )
        )

    def beat(self, member_id: str, epoch: int | None = None, **fields: Any) -> HeartbeatAnswer:
        """ConsumerGroupHeartbeat, answered at once.

        A member goes on in the epoch it was told last; it is remembered what it is told.
        """
        told = self.epochs.get(member_id, 0) if epoch is None else epoch
        answer = self.ask_beat(member_id, told, **fields).value
        if not answer.error and answer.member_id is not None:
            self.epochs[answer.member_id] = max(answer.member_epoch, 0)
            if answer.assigned is not None:
                self.members[answer.member_id] = {
                    topic: frozenset(indexes) for topic, indexes in answer.assigned.items()
                }
        return answer

    def enter(self, member_id: str, topics: str = "t", **fields: Any) -> HeartbeatAnswer:
        """Join with all that a member has to say; `topics` are letters."""
        return self.beat(
            member_id,
            0,
            **{
                "rebalance_timeout_ms": REBALANCE_MS,
                "subscribed_topics": frozenset(topics),
                "owned": {},
                **fields,
            },
        )

    def report(self, member_id: str, **fields: Any) -> HeartbeatAnswer:
        """Heartbeat with what the member owns: all that it was told to."""
        return self.beat(member_id, owned=self.members.get(member_id, {}), **fields)

    def settle(self, *member_ids: str, rounds: int = 4) -> None:
        """Let the members heartbeat until each has its target."""
        for _ in range(rounds):
            for member_id in member_ids:
                self.report(member_id)

    def owned(self, member_id: str) -> dict[str, list[int]]:
        """What a member was told to own, by the names of topics."""
        names = {topic.topic_id: name for name, topic in self.image.topics.items()}
        return {names[topic]: sorted(indexes) for topic, indexes in self.members[member_id].items()}

    def consumers(self, group_id: str = GROUP) -> ConsumerGroup:
        """The consumer group as it is in memory."""
        group = next(shard.groups[group_id] for shard in self.shards if group_id in shard.groups)
        assert isinstance(group, ConsumerGroup)
        return group
