"""Share groups on coordinators in memory: members that heartbeat, and a share coordinator that may fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcompat.group.kinds.share.group import ShareGroup
from kcompat.group.kinds.share.requests import ShareHeartbeatRequest
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.share.persister import Outcome
from support.group_coordinators import GROUP, ConsumerGroupFixture
from support.share_coordinators import ShareCoordinatorFixture

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.cluster.image import ClusterImage
    from kcompat.group.coordinator_config import GroupCoordinatorConfig
    from kcompat.group.kinds.share.groups import ShareGroups
    from kcompat.group.modern.heartbeat import HeartbeatAnswer
    from kcompat.share.key import SharePartitionKey
    from kcompat.share.persister import StateRead, StateSummary, StateWrite


class FailingPersister:
    """A share coordinator that does nothing while it has an error, and may answer when it is told to."""

    def __init__(self, fixture: ShareCoordinatorFixture) -> None:
        self._fixture = fixture
        self.error = ErrorCode.NONE
        self.failing: set[int] = set()
        """Partitions that cannot be begun, by their numbers."""
        self.begun: Callable[[], object] = lambda: None
        """Called when a share partition has begun, before that is answered."""
        self.asked: list[tuple[str, SharePartitionKey]] = []

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Promise[Outcome]:
        self.asked.append(("initialize", key))
        if self.error or key.partition in self.failing:
            error = self.error or ErrorCode.COORDINATOR_NOT_AVAILABLE
            return Promise.resolved(Outcome(error, "told to fail"))
        answer = self._fixture.coordinator.initialize(key, state_epoch, start_offset)
        self.begun()
        return answer

    def delete(self, key: SharePartitionKey) -> Promise[Outcome]:
        self.asked.append(("delete", key))
        if self.error:
            return Promise.resolved(Outcome(self.error, "told to fail"))
        return self._fixture.coordinator.delete(key)

    def read(self, key: SharePartitionKey, leader_epoch: int) -> Promise[StateRead]:
        return self._fixture.coordinator.read(key, leader_epoch)

    def write(self, key: SharePartitionKey, write: StateWrite) -> Promise[Outcome]:
        return self._fixture.coordinator.write(key, write)

    def summary(self, key: SharePartitionKey, leader_epoch: int) -> Promise[StateSummary]:
        return self._fixture.coordinator.summary(key, leader_epoch)


class ShareGroupFixture(ConsumerGroupFixture):
    """One broker's group coordinator and share coordinator, with the topics `t` and `u`."""

    def __init__(self, config: GroupCoordinatorConfig | None = None) -> None:
        self.shares = ShareCoordinatorFixture()
        self.shares.topics = {}
        self.persister = FailingPersister(self.shares)
        super().__init__(config, share_state=self.persister)
        self.told: dict[str, dict[str, list[int]]] = {}
        """Partitions of each member by the names of topics, from the last answer to it."""

    @property
    def share_groups(self) -> ShareGroups:
        """The share groups of the current coordinator."""
        return self.coordinator.share

    def show(self, image: ClusterImage) -> None:
        super().show(image)
        self.shares.topics = {topic.topic_id: len(topic.partitions) for topic in image.topics.values()}

    def share(self, member_id: str, epoch: int | None = None, **fields: Any) -> HeartbeatAnswer:
        """ShareGroupHeartbeat, answered at once; then what follows from it.

        A member goes on in the epoch it was told last; it is remembered what it is told.
        """
        request = ShareHeartbeatRequest(
            **{
                "group_id": GROUP,
                "member_id": member_id,
                "member_epoch": self.epochs.get(member_id, 0) if epoch is None else epoch,
                "client_id": "client",
                "client_host": "/127.0.0.1",
                **fields,
            }
        )
        answer = self.share_groups.heartbeat(request).value
        self.clock.advance(0)
        if not answer.error and answer.member_id is not None:
            self.epochs[answer.member_id] = max(answer.member_epoch, 0)
            if answer.assigned is not None:
                names = {topic.topic_id: name for name, topic in self.image.topics.items()}
                self.told[member_id] = {
                    names[topic]: list(indexes) for topic, indexes in answer.assigned.items()
                }
        return answer

    def enter_share(self, member_id: str, topics: str = "t", **fields: Any) -> HeartbeatAnswer:
        """Join; `topics` are letters."""
        return self.share(member_id, 0, **{"subscribed_topics": frozenset(topics), **fields})

    def leave_share(self, member_id: str) -> HeartbeatAnswer:
        return self.share(member_id, -1)

    def settle_share(self, *member_ids: str) -> None:
        """Let the members heartbeat, and time go by, until each has its target."""
        for _ in range(3):
            self.clock.advance(1_000)
            for member_id in member_ids:
                self.share(member_id)

    def sharers(self, group_id: str = GROUP) -> ShareGroup:
        """Return the share group from the coordinator's memory."""
        return self.group_in_memory(ShareGroup, group_id)
