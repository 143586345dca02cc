"""The topics of running brokers: partitions, leaders, offsets, sizes and configs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.api.config_resources import config_in_force
from kcompat.config import describe
from kcompat.protocol.constants import NO_LEADER
from kcompat.protocol.uuids import uuid_to_text

if TYPE_CHECKING:
    from kcompat.cluster.image import PartitionInfo, TopicImage
    from kcompat.instrumentation.brokers import Brokers

UNKNOWN: Final = -1
"""Value of an offset or size of a partition that no running broker leads."""


class PartitionState(Struct, frozen=True):
    """A partition of a topic. Offsets and the size are the leader's; -1 without a leader."""

    index: int
    leader: int
    """Id of the broker that leads the partition; -1 if none does."""
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    start_offset: int = UNKNOWN
    """Offset of the first record that is not deleted."""
    end_offset: int = UNKNOWN
    """Offset that the next record gets."""
    high_watermark: int = UNKNOWN
    """Offset up to which consumers can read."""
    last_stable_offset: int = UNKNOWN
    """Offset up to which consumers with `read_committed` can read."""
    size: int = UNKNOWN
    """Bytes of the log."""


class Topic(Struct, frozen=True):
    """A topic and its partitions, in the order of their indexes."""

    name: str
    id: str
    """Topic id in text form, as Kafka's tools print it."""
    is_internal: bool
    """Whether Kafka keeps its own state in the topic."""
    partitions: tuple[PartitionState, ...]
    overrides: dict[str, str]
    """Configs that are set for the topic itself."""
    configs: dict[str, str | None]
    """Every config of the topic with its effective value: the override, or the broker's value."""

    def __repr__(self) -> str:
        overrides = f" {self.overrides}" if self.overrides else ""
        rows = "".join(
            f"\n  {each.index}: leader={each.leader} isr={list(each.isr)} "
            f"offsets={each.start_offset}..{each.end_offset} size={each.size}"
            for each in self.partitions
        )
        return f"<Topic {self.name}{overrides}{rows}>"


async def describe_topics(brokers: Brokers, *, internal: bool = False) -> dict[str, Topic]:
    """Return the topics by name, in the order of their names; with `internal` also Kafka's internal
    topics.
    """
    async with brokers.steady():
        return {
            topic.name: describe_topic(brokers, topic)
            for _, topic in sorted(brokers.image.topics.items())
            if internal or not topic.is_internal
        }


def describe_topic(brokers: Brokers, topic: TopicImage) -> Topic:
    """Return the description of one topic."""
    overrides = brokers.image.configs("topics", topic.name)
    config = config_in_force(brokers.parts[0].services)
    return Topic(
        topic.name,
        uuid_to_text(topic.topic_id),
        topic.is_internal,
        tuple(_partition(brokers, topic.name, index, info) for index, info in topic.partitions.items()),
        dict(overrides),
        {entry.name: entry.value for entry in describe.describe_topic(config, overrides)},
    )


def _partition(brokers: Brokers, topic: str, index: int, info: PartitionInfo) -> PartitionState:
    home = brokers.home_of(topic, index)
    if home is None:
        return PartitionState(index, NO_LEADER, info.leader_epoch, info.replicas, info.isr)
    parts, partition = home
    role, log = partition.role, partition.log
    return PartitionState(
        index,
        parts.config.current.broker_id,
        role.leader_epoch,
        role.replicas,
        role.isr,
        log.log_start_offset,
        log.log_end_offset,
        partition.high_watermark,
        partition.last_stable_offset,
        log.size,
    )
