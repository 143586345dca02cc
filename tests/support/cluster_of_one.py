"""A cluster of one without logs or sockets: a real controller over a store in memory, and handlers to ask."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

from kcompat.api import create_topics
from kcompat.api.coordinator_check import CoordinatorCheck
from kcompat.api.first_metadata_update import LONGEST_WAIT_MS, FirstMetadataUpdate
from kcompat.cluster.feature_levels import HIGHEST_LEVELS, SUPPORTED
from kcompat.cluster.features import FinalizedFeatures
from kcompat.cluster.image import ClusterImage
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.cluster.registration import Forgetful, Registration
from kcompat.cluster.znodes import (
    CLUSTER_ID,
    BrokerRegistration,
    StoredPartitionState,
    TopicAssignment,
    config_path,
    encode_cluster_id,
    encode_config,
    encode_partition_state,
    encode_topic,
    partition_path,
    partition_state_path,
)
from kcompat.config.broker import BrokerConfig, ConfigFeed
from kcompat.config.fixed_size import fit_to_size
from kcompat.controller import loading
from kcompat.promise import Promise
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.security.authorizer import AllowEverything
from kcompat.store.interface import Create
from kcompat.store.process_store import ProcessStore
from support.asking import context_of, services_of, travelled
from support.controlled_brokers import FakeBroker
from support.controllers import ControllingBroker, answer
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from kcompat.api.charges import Charges
    from kcompat.cluster.feature_levels import Levels
    from kcompat.security.authorizer import Authorizer


class AskedGroups(list[str]):
    """In place of the group coordinator: the groups whose members are expected."""

    def note_find_coordinator(self, _: object, group_id: str) -> None:
        self.append(group_id)


class Ports:
    """In place of `Reachability`: the brokers in doubt, and those whose ports refuse."""

    def __init__(self, changed: Callable[[], object]) -> None:
        self.changed = changed
        self.doubtful: set[int] = set()
        self.refused: set[int] = set()

    def is_doubtful(self, broker_id: int) -> bool:
        return broker_id in self.doubtful

    def is_refused(self, broker_id: int) -> bool:
        return broker_id in self.refused


class ClusterFixture(ControllingBroker):
    """Broker 1 and its cluster; `ask` sends a request to a handler as a client of the PLAINTEXT listener.

    `authorizer` decides what that client may do; `charges` are what its next request costs its quotas.
    `keeps_metadata` says whether the store is the broker's own.
    """

    authorizer: Authorizer = AllowEverything()
    charges: Charges | None = None
    keeps_metadata = True

    def __init__(self, broker: type[FakeBroker] = FakeBroker, /, **settings: str) -> None:
        """`settings` are config keys with "_" for ".". No broker joins without `zookeeper_connect`."""
        config = BrokerConfig({key.replace("_", "."): value for key, value in settings.items()})
        self.config = config if config.get("zookeeper.connect") else fit_to_size(config, 1)
        self.cluster = MetadataCache("the-cluster")
        self.broker = broker(self.cluster)
        self.clock = VirtualClock()
        self.first_metadata_update = FirstMetadataUpdate(self.cluster, self.clock)
        self.coordinator_check = CoordinatorCheck(self.cluster, self.clock, self._reachability)
        self.asked_groups = AskedGroups()

    def _reachability(self, changed: Callable[[], object]) -> Ports:
        self.ports = Ports(changed)
        return self.ports

    async def __aenter__(self) -> Self:
        self.store = ProcessStore.in_memory(self.clock.now_ms)
        session = await self.store.session()
        await loading.prepare(session, HIGHEST_LEVELS)
        self.features = FinalizedFeatures(session)
        await self.features.start()
        await session.create(CLUSTER_ID, encode_cluster_id("the-cluster"))
        registration = BrokerRegistration(
            {"PLAINTEXT": ("advertised", 9092)}, {"PLAINTEXT": "PLAINTEXT"}, "r1", SUPPORTED
        )
        await self.stand(session, lambda _: self.broker, ConfigFeed(self.config), self.cluster, registration)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.withdraw()
        self.features.stop()
        await self.store.close()

    async def register(self, broker_id: int, features: Mapping[str, Levels] = SUPPORTED) -> None:
        """Another broker, which takes everything too; until this one shows it."""
        endpoints = {"PLAINTEXT": (f"h{broker_id}", 9092)}
        registration = BrokerRegistration(endpoints, {"PLAINTEXT": "PLAINTEXT"}, None, features)
        session = await self.store.session()
        await Registration(session, broker_id, Forgetful(), VirtualClock()).start(registration)
        await self.shown(lambda image: broker_id in image.brokers)

    async def create_with_dead_replica(self, topic: str, isr: Sequence[int] = (1,)) -> None:
        """A topic that somebody else has made, until this broker shows it: one partition with this ISR, and
        replicas on brokers 7, which is dead, and 1.
        """
        leader = 1 if 1 in isr else -1
        await self.session.multi(
            [
                Create(config_path("topics", topic), encode_config({})),
                Create(f"/brokers/topics/{topic}", encode_topic(TopicAssignment(b"d" * 16, ((7, 1),)))),
                Create(f"/brokers/topics/{topic}/partitions"),
                Create(partition_path(topic, 0)),
                Create(
                    partition_state_path(topic, 0),
                    encode_partition_state(StoredPartitionState(leader, 0, 1, tuple(isr))),
                ),
            ]
        )
        await self.shown(lambda image: topic in image.topics)

    def forget_controller(self) -> None:
        """Show what a broker shows that has just started: itself, and no controller yet."""
        known = self.cluster.image
        self.cluster.update(ClusterImage(known.cluster_id, brokers=known.brokers))

    async def waited_in_vain(self, asking: Coroutine[Any, Any, Any]) -> Any:
        """Return the answer to a request that waits for the controller, once its time is over."""
        asked = asyncio.create_task(asking)
        await asyncio.sleep(0)
        assert not asked.done()
        self.clock.advance(LONGEST_WAIT_MS)
        return await asked

    async def shown(self, is_so: Callable[[ClusterImage], bool]) -> None:
        """Until this broker shows what is meant."""
        changed = asyncio.Event()
        self.cluster.subscribe(lambda _, __: changed.set())
        while not is_so(self.cluster.image):
            changed.clear()
            await asyncio.wait_for(changed.wait(), 10)

    async def create(self, *names: str) -> dict[str, bytes]:
        """Make topics of two partitions; their ids."""
        topics = [
            CreateTopicsRequest.CreatableTopic(name=name, num_partitions=2, replication_factor=1)
            for name in names
        ]
        response = await self.ask(create_topics, 7, CreateTopicsRequest(topics=topics))
        assert [row.error_code for row in response.topics] == [0] * len(names)
        return {row.name: row.topic_id for row in response.topics}

    async def ask(self, module: Any, version: int, request: Any) -> Any:
        """The response of `module.handle`; both messages travel through the codec of this version."""
        services = services_of(
            broker_id=1,
            config=self.config,
            metadata=self.cluster,
            first_metadata_update=self.first_metadata_update,
            coordinator_check=self.coordinator_check,
            decisions=self.decisions,
            configs=self.configs,
            producer_ids=self.producer_ids,
            authorizer=self.authorizer,
            keeps_metadata=self.keeps_metadata,
            groups=self.asked_groups,
            features=self.features,
        )
        context = context_of(services, version, charges=self.charges)
        response = module.handle(context, travelled(request, version))
        if isinstance(response, Promise):
            response = await answer(response)
        return travelled(response, version)
