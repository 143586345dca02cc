"""Reads of the store: its root nodes (created if missing), the cluster id, and the controller's state, at the
start of a term and after writes of others.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from kcompat.cluster import znodes
from kcompat.cluster.feature_levels import are_supported, decode_finalized, encode_finalized
from kcompat.cluster.payloads import DamagedZnodeError
from kcompat.controller.state import (
    ABSENT,
    ControlledPartition,
    ControlledTopic,
    ControllerState,
    RegisteredBroker,
    TopicDeletion,
)
from kcompat.logger_names import CONTROLLER
from kcompat.protocol.constants import NO_LEADER
from kcompat.protocol.uuids import ZERO_UUID
from kcompat.store.interface import Create, NodeExistsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kcompat.store.interface import MetadataStore, Stat
    from kcompat.topics import TopicPartition

T = TypeVar("T")


_log = logging.getLogger(CONTROLLER)


async def prepare(store: MetadataStore, features: Mapping[str, int] = MappingProxyType({})) -> None:
    """Create the missing root nodes. A new cluster starts with these feature levels."""
    contents = {znodes.FEATURE: encode_finalized(features)}
    while missing := await _missing(store, znodes.PERSISTENT_PATHS):
        with suppress(NodeExistsError):  # another broker creates them concurrently: read again
            await store.multi([Create(path, contents.get(path, b"")) for path in missing])


async def _missing(store: MetadataStore, paths: Sequence[str]) -> list[str]:
    """Return those of these paths whose nodes do not exist."""
    nodes = await store.get_many(paths)
    return [path for path, node in zip(paths, nodes, strict=True) if node is None]


async def cluster_id(store: MetadataStore, proposed: str, *, claims: bool) -> str:
    """Return the id of the cluster: the stored one, else `proposed`, which is stored if `claims` is set. If
    another broker stores an id first, that id is returned.
    """
    if claims:
        with suppress(NodeExistsError):
            await store.create(znodes.CLUSTER_ID, znodes.encode_cluster_id(proposed))
    elif await store.exists(znodes.CLUSTER_ID) is None:
        return proposed
    decoded, _ = await read(store, znodes.CLUSTER_ID, znodes.decode_cluster_id)
    return decoded


async def load(store: MetadataStore, broker_id: int, epoch: int, epoch_version: int) -> ControllerState:
    """Read brokers, topics, configs and marks for a newly elected controller."""
    finalized, features_version = await load_features(store)
    brokers = await load_brokers(store, finalized)
    topics, written = await load_topics(store, await store.children(znodes.TOPICS))
    paths = {
        (kind, name): znodes.config_path(kind, name)
        for kind in ("topics", "brokers")
        for name in await store.children(f"{znodes.CONFIG}/{kind}")
    }
    configs = await _load_all(store, paths, znodes.decode_config)
    marked = await store.children(znodes.DELETE_TOPICS)
    deleting = [topics.get(name, ControlledTopic(name, ZERO_UUID, ())) for name in marked]
    last_producer_id, producer_ids_version = await load_producer_ids(store)
    return ControllerState(
        broker_id,
        epoch,
        epoch_version,
        brokers,
        {name: topic for name, topic in topics.items() if name not in marked},
        {entity: values for entity, (values, _) in configs.items()},
        {topic.name: TopicDeletion(topic, topic.brokers) for topic in deleting},
        last_producer_id,
        producer_ids_version,
        deposed=frozenset(_deposed(topics, written, brokers)),
        finalized=finalized,
        features_version=features_version,
    )


async def load_brokers(store: MetadataStore, finalized: Mapping[str, int]) -> dict[int, RegisteredBroker]:
    """Return all registered brokers that support the finalized features."""
    brokers = await registered(store, map(int, await store.children(znodes.BROKER_IDS)))
    able = {each: found for each, found in brokers.items() if are_supported(finalized, found.features)}
    if able.keys() != brokers.keys():
        left_out = sorted(brokers.keys() - able.keys())
        _log.warning("brokers %s are left alone: they do not support the finalized features", left_out)
    return able


async def registered(store: MetadataStore, broker_ids: Iterable[int]) -> dict[int, RegisteredBroker]:
    """Return the registered ones of these brokers, by id."""
    paths = {broker_id: znodes.broker_path(broker_id) for broker_id in broker_ids}
    found = await _load_all(store, paths, znodes.decode_broker)
    return {
        broker_id: RegisteredBroker(broker.info(broker_id), stat.czxid, broker.features)
        for broker_id, (broker, stat) in found.items()
    }


async def load_topics(
    store: MetadataStore, names: Iterable[str]
) -> tuple[dict[str, ControlledTopic], dict[TopicPartition, int]]:
    """Return those of these topics that exist, and the id of the transaction that last wrote each partition's
    state. The parent nodes of missing states are created.
    """
    assignments = await _load_all(
        store, {name: znodes.topic_path(name) for name in names}, znodes.decode_topic
    )
    states = await load_states(
        store,
        [(name, index) for name, (each, _) in assignments.items() for index in range(len(each.replicas))],
    )
    topics = {}
    for name, (assignment, _) in assignments.items():
        partitions = tuple(
            partition_of(assignment, index, states.get((name, index)))
            for index in range(len(assignment.replicas))
        )
        topics[name] = ControlledTopic(name, assignment.topic_id, partitions)
    for topic in topics.values():
        await make_room(store, topic)
    return topics, {key: stat.mzxid for key, (_, stat) in states.items()}


async def load_topic_configs(store: MetadataStore, names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the configs of those of these topics that have some."""
    paths = {name: znodes.config_path("topics", name) for name in names}
    return {
        name: values for name, (values, _) in (await _load_all(store, paths, znodes.decode_config)).items()
    }


async def load_states(
    store: MetadataStore, keys: Sequence[TopicPartition]
) -> dict[TopicPartition, tuple[znodes.StoredPartitionState, Stat]]:
    """Return the stored states of these partitions; partitions without one are left out."""
    paths = {key: znodes.partition_state_path(*key) for key in keys}
    return await _load_all(store, paths, znodes.decode_partition_state)


def partition_of(
    assignment: znodes.TopicAssignment, index: int, found: tuple[znodes.StoredPartitionState, Stat] | None
) -> ControlledPartition:
    """Return a partition made of its assignment and, if there is one, its state."""
    adding, removing = assignment.adding.get(index, ()), assignment.removing.get(index, ())
    replicas = assignment.replicas[index]
    if found is None:
        return ControlledPartition(NO_LEADER, 0, (), replicas, ABSENT, 0, adding, removing)
    state, stat = found
    return ControlledPartition(
        state.leader,
        state.leader_epoch,
        state.isr,
        replicas,
        stat.version,
        state.leader_recovery_state,
        adding,
        removing,
    )


async def make_room(store: MetadataStore, topic: ControlledTopic) -> None:
    """Create the parent nodes of the states of partitions that have none."""
    absent = [index for index, each in enumerate(topic.partitions) if each.partition_epoch == ABSENT]
    parents = [znodes.partition_path(topic.name, index) for index in absent]
    for path in [f"{znodes.topic_path(topic.name)}/partitions", *parents] if absent else ():
        with suppress(NodeExistsError):
            await store.create(path)


async def load_producer_ids(store: MetadataStore) -> tuple[int, int]:
    """Return the last allocated producer id and the version of its node."""
    (node,) = await store.get_many([znodes.PRODUCER_ID_BLOCK])
    if node is None:
        return -1, ABSENT
    data, stat = node
    if not data:
        return -1, stat.version  # the initial node of a new cluster is empty
    block, stat = await read(store, znodes.PRODUCER_ID_BLOCK, znodes.decode_producer_ids)
    return block.last, stat.version


async def load_features(store: MetadataStore) -> tuple[dict[str, int], int]:
    """Return the finalized feature levels and the version of their node. A node without levels, or an
    unreadable one, is overwritten when they change.
    """
    (node,) = await store.get_many([znodes.FEATURE])
    if node is None:
        return {}, ABSENT
    data, stat = node
    try:
        return decode_finalized(data) or {}, stat.version
    except DamagedZnodeError:
        return {}, stat.version


async def refresh(store: MetadataStore, state: ControllerState, paths: Iterable[str]) -> ControllerState:
    """Return the state with these nodes read again, since another writer has changed some of them."""
    names, entities = set(), {}
    for path in paths:
        parts = path.split("/")
        if path.startswith(f"{znodes.TOPICS}/"):
            names.add(parts[3])
        elif path.startswith(f"{znodes.CONFIG}/"):
            entities[parts[2], parts[3]] = path
    topics, _ = await load_topics(store, sorted(names))
    known = {name: topic for name, topic in state.topics.items() if name not in names}
    deleting = dict(state.deleting)
    for name, topic in topics.items():
        if name in deleting:
            deleting[name] = replace(deleting[name], topic=topic)
        else:
            known[name] = topic
    for name in sorted(names - topics.keys()):
        deleting.pop(name, None)
    configs = {entity: each for entity, each in state.entity_configs.items() if entity not in entities}
    found = await _load_all(store, entities, znodes.decode_config)
    configs.update((entity, values) for entity, (values, _) in found.items())
    marked = frozenset(await store.children(znodes.DELETE_TOPICS)) - deleting.keys()
    wanted = await _load_all(store, {None: znodes.REASSIGN_PARTITIONS}, znodes.decode_reassignments)
    last_producer_id, producer_ids_version = await load_producer_ids(store)
    finalized, features_version = await load_features(store)
    return replace(
        state,
        topics=known,
        deleting=deleting,
        entity_configs=configs,
        marked=marked,
        wanted_by_tool=wanted[None][0] if wanted else {},
        last_producer_id=last_producer_id,
        producer_ids_version=producer_ids_version,
        finalized=finalized,
        features_version=features_version,
    )


async def read(store: MetadataStore, path: str, decode: Callable[[bytes], T]) -> tuple[T, Stat]:
    """Return a node's decoded payload and its Stat. Raises `DamagedZnodeError`, which names the node."""
    data, stat = await store.get(path)
    return _decoded(path, data, decode), stat


K = TypeVar("K")


async def _load_all(
    store: MetadataStore, paths: Mapping[K, str], decode: Callable[[bytes], T]
) -> dict[K, tuple[T, Stat]]:
    """Return the decoded payloads and the Stats of those of these nodes that exist."""
    found = await store.get_many(list(paths.values()))
    return {
        key: (_decoded(path, node[0], decode), node[1])
        for (key, path), node in zip(paths.items(), found, strict=True)
        if node is not None
    }


def _decoded(path: str, data: bytes, decode: Callable[[bytes], T]) -> T:
    try:
        return decode(data)
    except DamagedZnodeError as error:
        raise DamagedZnodeError(f"{path}: {error}") from error


def _deposed(
    topics: Mapping[str, ControlledTopic],
    written: Mapping[TopicPartition, int],
    brokers: Mapping[int, RegisteredBroker],
) -> Iterable[TopicPartition]:
    """Return the partitions whose leader has registered after their state was written."""
    for (name, index), zxid in written.items():
        leader = brokers.get(topics[name].partitions[index].leader)
        if leader is not None and leader.epoch > zxid:
            yield name, index
