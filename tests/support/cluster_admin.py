"""An administrator of a simulated cluster, who makes, grows and deletes topics, moves replicas and has
leaders elected, whatever else goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcompat.cluster.feature_levels import GROUP_VERSION, SHARE_VERSION, STREAMS_VERSION
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kcompat.protocol.messages.create_partitions import CreatePartitionsRequest
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.delete_topics import DeleteTopicsRequest
from kcompat.protocol.messages.elect_leaders import ElectLeadersRequest
from kcompat.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kcompat.protocol.messages.update_features import UpdateFeaturesRequest
from support.cluster_clients import ClusterClient, NoAnswerError
from support.guarded_store import ViolationError

if TYPE_CHECKING:
    from random import Random

    from kcompat.protocol.message import Message
    from support.virtual_cluster import VirtualCluster

MOST_PARTITIONS = 4
CHURN = "churn-"
GROUP, SET = 32, 0
"""A type of resources, and what is done to their configs."""


class Administrator(ClusterClient):
    """Asks the controller for changes, once each; `stable` is a topic that is never deleted."""

    cluster: VirtualCluster

    def __init__(self, cluster: VirtualCluster, stable: str, random: Random) -> None:
        super().__init__(cluster, "administrator", random)
        self._stable = stable
        self._number = 0
        self._there: dict[str, bool | None] = {}
        """By topic whether it is there, as far as the answers told; None where they do not."""

    async def do_something(self) -> None:
        """One change or another."""
        chosen = self.random.choice(
            [self._create, self._delete, self._grow, self._move, self._move, self._cancel, self._elect]
        )
        await chosen()

    async def _ask(self, what: str, request: Message, version: int) -> Any:
        await self.learn()
        if self.controller < 0:
            return None
        try:
            answer = await self.call(self.controller, request, version)
        except NoAnswerError:
            answer = None
        self.cluster.happened(f"{what}: {'no answer' if answer is None else answer}")
        return answer

    async def make(self, name: str, *, partitions: int) -> bool:
        """Whether a topic was made, or is there."""
        replicas = min(3, len(self.cluster.broker_ids))
        topic = CreateTopicsRequest.CreatableTopic(
            name=name, num_partitions=partitions, replication_factor=replicas
        )
        answer = await self._ask(f"create {name}", CreateTopicsRequest(topics=[topic], timeout_ms=2000), 4)
        error = None if answer is None else answer.topics[0].error_code
        return error in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)

    async def insist_on_features(self) -> None:
        """Ask for kinds of groups until they are finalized; a cluster with `zookeeper.connect` has none of
        them by itself.
        """
        names = (GROUP_VERSION, SHARE_VERSION, STREAMS_VERSION)
        updates = [UpdateFeaturesRequest.FeatureUpdateKey(name, 1) for name in names]
        request = UpdateFeaturesRequest(2000, updates)
        while (answer := await self._ask("finalize features", request, 1)) is None or answer.error_code:
            await self.pause()

    async def insist_on_earliest(self, group: str) -> None:
        """Have a share group begin with the first record of each partition."""
        config = IncrementalAlterConfigsRequest.AlterableConfig("share.auto.offset.reset", SET, "earliest")
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(GROUP, group, [config])
        request = IncrementalAlterConfigsRequest([resource])
        while True:
            answer = await self._ask(f"share {group} from the start", request, 1)
            if answer is not None and not answer.responses[0].error_code:
                return
            await self.pause()

    async def insist_on(self, name: str, *, partitions: int) -> None:
        """Ask for a topic until it is there."""
        while not await self.make(name, partitions=partitions):
            await self.pause()

    async def _create(self) -> None:
        self._number += 1
        name = f"{CHURN}{self._number}"
        self._there[name] = None
        if await self.make(name, partitions=self.random.randint(1, 3)):
            self._there[name] = True

    async def _delete(self) -> None:
        names = [name for name, is_there in self._there.items() if is_there]
        if not names:
            return
        name = self.random.choice(names)
        self._there[name] = None
        answer = await self._ask(
            f"delete {name}", DeleteTopicsRequest(topic_names=[name], timeout_ms=2000), 4
        )
        if answer is not None and answer.responses[0].error_code == ErrorCode.NONE:
            self._there[name] = False

    async def _grow(self) -> None:
        count = len([place for place in self.cluster.store.states if place[0] == self._stable]) + 1
        if count <= MOST_PARTITIONS:
            topic = CreatePartitionsRequest.CreatePartitionsTopic(self._stable, count, None)
            await self._ask(f"grow to {count}", CreatePartitionsRequest([topic], 2000), 1)

    async def _move(self) -> None:
        await self._reassign(self.random.sample(self.cluster.broker_ids, 3))

    async def _cancel(self) -> None:
        await self._reassign(None)

    async def _reassign(self, replicas: list[int] | None) -> None:
        request = AlterPartitionReassignmentsRequest
        places = [
            place
            for place in self.cluster.store.states
            if self._there.get(place[0], not place[0].startswith(CHURN))
        ]
        name, index = self.random.choice(places)
        row = request.ReassignableTopic(name, [request.ReassignablePartition(index, replicas)])
        await self._ask(f"move {name}-{index} to {replicas}", request(2000, topics=[row]), 0)

    async def _elect(self) -> None:
        await self._ask("elect", ElectLeadersRequest(0, None, 2000), 2)

    def check(self) -> None:
        """See that what was done is done. Raises ViolationError."""
        topics = self.cluster.store.topics()
        for name, is_there in self._there.items():
            if is_there is not None and is_there != (name in topics):
                raise ViolationError(
                    f"{name} was {'made' if is_there else 'deleted'}, and is {name in topics}"
                )
