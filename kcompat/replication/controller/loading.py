"""What a broker reads and writes in the store when it starts: its registration, the controller's election,
the image.

Election, as in Kafka's `KafkaZkClient.registerControllerAndIncrementControllerEpoch`: one transaction creates
the ephemeral `/controller` and moves `/controller_epoch` on by one from the version just read. The new
version of that node guards every later write of this controller.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.cluster import znodes
from kcompat.cluster.image import BrokerInfo, ClusterImage, PartitionInfo, TopicImage
from kcompat.cluster.store import BadVersionError, Create, NodeExistsError, NoNodeError, SetData
from kcompat.protocol.uuids import ZERO_UUID
from kcompat.replication.controller.state import ABSENT, ControllerState

if TYPE_CHECKING:
    from kcompat.cluster.store import MetadataStore


class BrokerIdInUseError(Exception):
    """Another live broker is registered under this id."""


class ControllerElsewhereError(Exception):
    """Another live broker is the controller."""


class Loaded(Struct, frozen=True):
    """The state as the store has it, and the topics whose deletion was interrupted."""

    state: ControllerState
    deleting: dict[str, TopicImage]
    deleting_with_configs: frozenset[str]


async def prepare(store: MetadataStore) -> None:
    """Make sure of the nodes everything else hangs on."""
    while missing := [path for path in znodes.PERSISTENT_PATHS if await store.exists(path) is None]:
        with suppress(NodeExistsError):  # another broker starts at the same time: look again
            await store.multi([Create(path) for path in missing])


async def cluster_id(store: MetadataStore, proposed: str) -> str:
    """The cluster's id; `proposed` becomes it if the cluster has none yet. Needs `prepare`."""
    if await store.exists(znodes.CLUSTER_ID) is None:
        await _create_if_absent(store, znodes.CLUSTER_ID, znodes.encode_cluster_id(proposed))
    data, _ = await store.get(znodes.CLUSTER_ID)
    return znodes.decode_cluster_id(data)


async def register_broker(
    store: MetadataStore, broker_id: int, registration: znodes.BrokerRegistration, now_ms: int
) -> BrokerInfo:
    """Register this broker for as long as its session lives; the answer has its broker epoch."""
    path = znodes.broker_path(broker_id)
    try:
        await store.create(path, znodes.encode_broker(registration, now_ms), ephemeral=True)
    except NodeExistsError as error:
        raise BrokerIdInUseError(
            f"broker id {broker_id} is in use by another live broker of this cluster"
        ) from error
    _, stat = await store.get(path)
    return BrokerInfo(broker_id, registration.rack, registration.endpoints, stat.czxid)


async def elect(store: MetadataStore, broker_id: int, now_ms: int) -> tuple[int, int]:
    """Become the controller: its epoch and the version of `/controller_epoch`. Raises
    `ControllerElsewhereError`.
    """
    if await store.exists(znodes.CONTROLLER_EPOCH) is None:
        await _create_if_absent(store, znodes.CONTROLLER_EPOCH, znodes.encode_epoch(0))
    data, stat = await store.get(znodes.CONTROLLER_EPOCH)
    epoch = znodes.decode_epoch(data) + 1
    try:
        await store.multi(
            [
                Create(znodes.CONTROLLER, znodes.encode_controller(broker_id, now_ms), ephemeral=True),
                SetData(znodes.CONTROLLER_EPOCH, znodes.encode_epoch(epoch), stat.version),
            ]
        )
    except (NodeExistsError, BadVersionError) as error:
        raise ControllerElsewhereError("another live broker of this cluster is the controller") from error
    return epoch, stat.version + 1


async def load(store: MetadataStore, controller_id: int, epoch: int, epoch_version: int) -> Loaded:
    """Read brokers, topics, configs and marks as a newly elected controller does."""
    brokers = {
        int(name): await _load_broker(store, int(name)) for name in await store.children(znodes.BROKER_IDS)
    }
    topics = {name: await _load_topic(store, name) for name in await store.children(znodes.TOPICS)}
    configs = {}
    for kind in ("topics", "brokers"):
        for name in await store.children(f"{znodes.CONFIG}/{kind}"):
            data, _ = await store.get(znodes.config_path(kind, name))
            configs[kind, name] = znodes.decode_config(data)
    marked = set(await store.children(znodes.DELETE_TOPICS))
    last_producer_id, producer_ids_version = await _load_producer_ids(store)
    image = ClusterImage(
        await _load_cluster_id(store),
        controller_id,
        epoch,
        brokers,
        entity_configs={
            entity: values
            for entity, values in configs.items()
            if entity[0] != "topics" or entity[1] not in marked
        },
    ).with_topics(topic for name, topic in topics.items() if name not in marked)
    return Loaded(
        ControllerState(image, epoch_version, frozenset(marked), last_producer_id, producer_ids_version),
        {name: topics.get(name, TopicImage(name, ZERO_UUID, ())) for name in marked},
        frozenset(name for kind, name in configs if kind == "topics"),
    )


async def _load_cluster_id(store: MetadataStore) -> str:
    data, _ = await store.get(znodes.CLUSTER_ID)
    return znodes.decode_cluster_id(data)


async def _load_broker(store: MetadataStore, broker_id: int) -> BrokerInfo:
    data, stat = await store.get(znodes.broker_path(broker_id))
    broker = znodes.decode_broker(data)
    return BrokerInfo(broker_id, broker.rack, broker.endpoints, stat.czxid)


async def _load_topic(store: MetadataStore, name: str) -> TopicImage:
    data, _ = await store.get(znodes.topic_path(name))
    assignment = znodes.decode_topic(data)
    partitions = []
    for index, replicas in enumerate(assignment.replicas):
        data, stat = await store.get(znodes.partition_state_path(name, index))
        state = znodes.decode_partition_state(data)
        partitions.append(
            PartitionInfo(
                state.leader,
                state.leader_epoch,
                state.isr,
                replicas,
                stat.version,
                state.leader_recovery_state,
            )
        )
    return TopicImage(name, assignment.topic_id, tuple(partitions))


async def _load_producer_ids(store: MetadataStore) -> tuple[int, int]:
    """The last id handed out and the version of the node."""
    try:
        data, stat = await store.get(znodes.PRODUCER_ID_BLOCK)
    except NoNodeError:
        return -1, ABSENT
    return znodes.decode_producer_ids(data).last, stat.version


async def _create_if_absent(store: MetadataStore, path: str, data: bytes) -> None:
    """Create a persistent node, unless another broker was first."""
    with suppress(NodeExistsError):
        await store.create(path, data)
