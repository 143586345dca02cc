"""Taking over log directories whose metadata store is elsewhere or lost.

A directory of a Kafka broker, or of this one, holds nearly all that is needed to serve it: topics and
partitions by the names of their directories, topic ids in `partition.metadata`, leader epochs in
`leader-epoch-checkpoint`, producers in snapshots and batches; the groups and their offsets are records.
A store that does not know its cluster yet gets these topics. What only the old store knew is lost: the
configurations of topics, and replicas on other brokers.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.cluster import znodes
from kcompat.controller.internal_topics import spec_of_automatic_topic
from kcompat.log.errors import LogDirectoryError
from kcompat.log.producer_ids import (
    NO_PRODUCER_ID,
    highest_producer_id,
    highest_transactional_producer_id,
)
from kcompat.protocol.uuids import ZERO_UUID, random_uuid
from kcompat.store.interface import Create, NoNodeError, SetData
from kcompat.topics import TRANSACTION_STATE, is_internal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from random import Random

    from kcompat.config.broker import BrokerConfig
    from kcompat.log.log import Log
    from kcompat.store.interface import MetadataStore, Op

logger = logging.getLogger(__name__)

LARGEST_PRODUCER_ID = 2**48
"""No cluster has ever handed out an id above this one. To go on from such an id would use up the ids."""

KEEP_EVERYTHING = {"retention.ms": "-1", "retention.bytes": "-1"}
"""Configs of an adopted topic whose configuration is not known: nothing is deleted until they are changed."""


class AdoptedTopic(Struct, frozen=True):
    """A topic as its directories show it: `epochs` are the newest leader epochs by partition."""

    name: str
    topic_id: bytes
    epochs: Mapping[int, int]
    configs: Mapping[str, str]

    @property
    def partitions(self) -> range:
        """Indexes of partitions up to the highest one found, whether their directories are here or not."""
        return range(max(self.epochs) + 1)


async def adopt(
    store: MetadataStore, logs: Iterable[Log], cluster_id: str, config: BrokerConfig, random: Random
) -> None:
    """Write the cluster and the topics found in the logs into a new store; check that any other store is not
    behind the logs. One transaction, so that after a crash the store is still new. Raises LogDirectoryError
    if another broker has led the partitions since.
    """
    found = list(logs)
    if await store.exists(znodes.CLUSTER_ID) is not None:
        await _check_epochs(store, found)
        await _spend_producer_ids(store, found, config.broker_id)
        return
    topics = list(topics_of(found, config, random))
    ops: list[Op] = [Create(znodes.CLUSTER_ID, znodes.encode_cluster_id(cluster_id))]
    for topic in topics:
        ops.extend(_nodes(topic, config.broker_id))
    highest = max(map(_highest_producer_id, found), default=NO_PRODUCER_ID)
    if highest != NO_PRODUCER_ID:
        block = block_around(highest, config.broker_id)
        ops.append(SetData(znodes.PRODUCER_ID_BLOCK, znodes.encode_producer_ids(block)))
    await store.multi(ops)
    if topics:
        _announce(topics, cluster_id)


async def _check_epochs(store: MetadataStore, logs: Iterable[Log]) -> None:
    """Refuse logs with a newer leader epoch than the store, which has each before a log: another broker has
    led them since.
    """
    topic_ids: dict[str, bytes] = {}  # read once: a topic with many partitions is a large node
    for log in logs:
        try:
            if log.topic not in topic_ids:
                topic, _ = await store.get(znodes.topic_path(log.topic))
                topic_ids[log.topic] = znodes.decode_topic(topic).topic_id
            data, _ = await store.get(znodes.partition_state_path(log.topic, log.partition))
        except NoNodeError:
            logger.warning("%s is no partition that the metadata store knows: not served", log.directory)
            continue
        known_id = topic_ids[log.topic]
        if log.topic_id != known_id and ZERO_UUID not in (log.topic_id, known_id):
            continue  # a log of another topic of this name; it is set aside when the name is needed
        epoch = znodes.decode_partition_state(data).leader_epoch
        if epoch < log.epochs.latest:
            raise LogDirectoryError(
                f"The metadata store is older than {log.directory}: it has leader epoch {epoch} and not yet "
                f"{log.epochs.latest}, so another broker has written there. Move the store (metadata.db and "
                "what begins so) away to adopt the log directories as they are."
            )


async def _spend_producer_ids(store: MetadataStore, logs: Iterable[Log], broker_id: int) -> None:
    """Reserve all producer ids seen in these logs: another broker may have allocated them meanwhile."""
    ids = (entry.producer_id for log in logs for entry in log.producers)
    highest = max(filter(_is_handed_out, ids), default=NO_PRODUCER_ID)
    data, stat = await store.get(znodes.PRODUCER_ID_BLOCK)
    last = znodes.decode_producer_ids(data).last if data else NO_PRODUCER_ID
    if highest > last:
        block = block_around(highest, broker_id)
        await store.set(znodes.PRODUCER_ID_BLOCK, znodes.encode_producer_ids(block), stat.version)


def topics_of(logs: Iterable[Log], config: BrokerConfig, random: Random) -> Iterator[AdoptedTopic]:
    """Return the topics of these logs, ordered by name; `random` draws ids for those without one."""
    by_topic: dict[str, list[Log]] = {}
    for log in logs:
        by_topic.setdefault(log.topic, []).append(log)
    for name in sorted(by_topic):
        partitions = by_topic[name]
        ids = Counter(log.topic_id for log in partitions if log.topic_id != ZERO_UUID)
        topic_id = ids.most_common(1)[0][0] if ids else random_uuid(random)
        epochs = {log.partition: log.epochs.latest for log in partitions}
        yield AdoptedTopic(name, topic_id, epochs, _configs(name, config))


def block_around(producer_id: int, broker_id: int) -> znodes.ProducerIdBlock:
    """Return the block of producer ids around this one; others of it may be in use
    unseen, so all are spent.
    """
    first = producer_id - producer_id % znodes.PRODUCER_ID_BLOCK_SIZE
    return znodes.ProducerIdBlock(broker_id, first, first + znodes.PRODUCER_ID_BLOCK_SIZE - 1)


def _configs(topic: str, config: BrokerConfig) -> Mapping[str, str]:
    if not is_internal(topic):
        return KEEP_EVERYTHING
    spec = spec_of_automatic_topic(topic, config)
    return {name: value for name, value in spec.configs if value is not None}


def _is_handed_out(producer_id: int) -> bool:
    """Return whether a broker may have allocated this id. Larger ids were made up by clients."""
    return producer_id <= LARGEST_PRODUCER_ID


def _highest_producer_id(log: Log) -> int:
    files = log.context.files
    highest = highest_producer_id(log.directory, LARGEST_PRODUCER_ID, files)
    if log.topic == TRANSACTION_STATE:
        highest = max(highest, highest_transactional_producer_id(log.directory, files))
    return highest


def _nodes(topic: AdoptedTopic, broker_id: int) -> Iterator[Op]:
    """Return the topic's znodes. This broker led every partition; when it is elected again, epochs grow by
    one.
    """
    replicas = (broker_id,)
    assignment = znodes.TopicAssignment(topic.topic_id, tuple(replicas for _ in topic.partitions))
    path = znodes.topic_path(topic.name)
    yield Create(znodes.config_path("topics", topic.name), znodes.encode_config(topic.configs))
    yield Create(path, znodes.encode_topic(assignment))
    yield Create(f"{path}/partitions")
    for index in topic.partitions:
        epoch = max(topic.epochs.get(index, 0), 0)
        state = znodes.StoredPartitionState(broker_id, epoch, 0, replicas)
        yield Create(znodes.partition_path(topic.name, index))
        yield Create(znodes.partition_state_path(topic.name, index), znodes.encode_partition_state(state))


def _announce(topics: Iterable[AdoptedTopic], cluster_id: str) -> None:
    """Log which topics were adopted, and which of their properties have changed."""
    own = [topic.name for topic in topics if not is_internal(topic.name)]
    logger.warning(
        "the log directories hold topics of cluster %s that the metadata store does not know; adopted: %s. "
        "Their configurations are not known: the broker's defaults apply, and nothing is deleted "
        "(retention.ms=-1, retention.bytes=-1) until you set their own.",
        cluster_id,
        ", ".join(own) or "the internal ones",
    )
    for topic in topics:
        missing = sorted(set(topic.partitions) - topic.epochs.keys())
        if missing:
            logger.warning("partitions %s of %s are not here and begin empty", missing, topic.name)
