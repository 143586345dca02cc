"""What is read from the store at a start: the nodes that must be there (made if not), the cluster's id, and
the state that a new controller begins with.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from kcompat.cluster import znodes
from kcompat.cluster.image import BrokerInfo
from kcompat.cluster.store import Create, NodeExistsError
from kcompat.controller.state import (
    ABSENT,
    ControlledPartition,
    ControlledTopic,
    ControllerState,
    Deletion,
    RegisteredBroker,
)
from kcompat.protocol.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.cluster.store import MetadataStore, Stat

T = TypeVar("T")


async def prepare(store: MetadataStore) -> None:
    """Create the nodes above all others, as far as they are missing."""
    while missing := [path for path in znodes.PERSISTENT_PATHS if await store.exists(path) is None]:
        with suppress(NodeExistsError):  # another broker starts at the same time: look again
            await store.multi([Create(path) for path in missing])


async def cluster_id(store: MetadataStore) -> str | None:
    """The cluster's id; None from a store that is new."""
    if await store.exists(znodes.CLUSTER_ID) is None:
        return None
    decoded, _ = await read(store, znodes.CLUSTER_ID, znodes.decode_cluster_id)
    return decoded


async def load(store: MetadataStore, broker_id: int, epoch: int, epoch_version: int) -> ControllerState:
    """Read brokers, topics, configs and marks for a newly elected controller."""
    brokers = {
        int(name): await _load_broker(store, int(name)) for name in await store.children(znodes.BROKER_IDS)
    }
    topics = {name: await _load_topic(store, name) for name in await store.children(znodes.TOPICS)}
    configs = {}
    for kind in ("topics", "brokers"):
        for name in await store.children(f"{znodes.CONFIG}/{kind}"):
            configs[kind, name], _ = await read(store, znodes.config_path(kind, name), znodes.decode_config)
    marked = await store.children(znodes.DELETE_TOPICS)
    last_producer_id, producer_ids_version = await _load_producer_ids(store)
    return ControllerState(
        broker_id,
        epoch,
        epoch_version,
        brokers,
        {name: topic for name, topic in topics.items() if name not in marked},
        configs,
        {name: Deletion(topics.get(name, ControlledTopic(name, ZERO_UUID, ()))) for name in marked},
        last_producer_id,
        producer_ids_version,
    )


async def _load_broker(store: MetadataStore, broker_id: int) -> RegisteredBroker:
    broker, stat = await read(store, znodes.broker_path(broker_id), znodes.decode_broker)
    info = BrokerInfo(broker_id, broker.rack, broker.endpoints, broker.security_protocols)
    return RegisteredBroker(info, stat.czxid)


async def _load_topic(store: MetadataStore, name: str) -> ControlledTopic:
    assignment, _ = await read(store, znodes.topic_path(name), znodes.decode_topic)
    partitions = []
    for index, replicas in enumerate(assignment.replicas):
        state, stat = await read(
            store, znodes.partition_state_path(name, index), znodes.decode_partition_state
        )
        partitions.append(
            ControlledPartition(
                state.leader,
                state.leader_epoch,
                state.isr,
                replicas,
                stat.version,
                state.leader_recovery_state,
            )
        )
    return ControlledTopic(name, assignment.topic_id, tuple(partitions))


async def _load_producer_ids(store: MetadataStore) -> tuple[int, int]:
    """The last id handed out and the version of the node."""
    if await store.exists(znodes.PRODUCER_ID_BLOCK) is None:
        return -1, ABSENT
    block, stat = await read(store, znodes.PRODUCER_ID_BLOCK, znodes.decode_producer_ids)
    return block.last, stat.version


async def read(store: MetadataStore, path: str, decode: Callable[[bytes], T]) -> tuple[T, Stat]:
    """What a node holds, and its Stat; `DamagedZnodeError` names the node."""
    data, stat = await store.get(path)
    try:
        return decode(data), stat
    except znodes.DamagedZnodeError as error:
        raise znodes.DamagedZnodeError(f"{path}: {error}") from error
