"""Events that make topics and partitions: CreateTopics, CreatePartitions. Pure.

All topics of one request go into one store transaction, and their partitions into one LeaderAndIsr request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcompat.cluster.znodes import (
    TopicAssignment,
    config_path,
    encode_config,
    encode_topic,
    partition_path,
    partition_state_path,
    topic_path,
)
from kcompat.config.errors import ConfigError
from kcompat.config.topic import check_new_topic
from kcompat.controller.assignment import replicas_of_more_partitions, replicas_of_new_topic
from kcompat.controller.requests import (
    assigned,
    metadata_update,
    roles,
    to_all,
    topic_configs,
    updated_partition,
    updated_partitions,
)
from kcompat.controller.state import ControlledPartition, ControlledTopic, Decision, encode_state
from kcompat.controller.values import TopicOutcome, TopicRefusedError, TopicResult
from kcompat.protocol.constants import NO_LEADER
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.uuids import random_uuid
from kcompat.store.interface import Create, SetData
from kcompat.topics import name_problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from random import Random

    from kcompat.config.broker import BrokerConfig
    from kcompat.controller.state import ControllerState
    from kcompat.controller.values import PartitionsSpec, TopicSpec
    from kcompat.store.interface import Op

MAX_PARTITIONS_PER_REQUEST = 10_000
TOO_MANY_PARTITIONS = "Excessively large number of partitions per request."


class CreateTopics(Struct, frozen=True):
    """Event: create topics with distinct names. A topic that cannot be created does not stop the others."""

    specs: Sequence[TopicSpec]
    validate_only: bool
    config: BrokerConfig
    random: Random

    def decide(self, state: ControllerState) -> Decision[list[TopicResult]]:
        """Create all valid topics in one decision."""
        if self._requested_partitions() > MAX_PARTITIONS_PER_REQUEST:
            return Decision(state, self._all(ErrorCode.POLICY_VIOLATION, TOO_MANY_PARTITIONS))
        made: dict[str, ControlledTopic] = {}
        metric_names = self._metric_names(state)
        configs: dict[str, dict[str, str]] = {}
        results = []
        for spec in self.specs:
            try:
                _check_name(spec.name, state, metric_names)
                topic_configs = self._configs(spec)
                topic = self._topic(spec, state)
            except TopicRefusedError as refusal:
                results.append(TopicResult(spec.name, refusal.error, refusal.message))
                continue
            made[spec.name] = topic
            metric_names[_metric_name(spec.name)] = spec.name
            configs[spec.name] = topic_configs
            results.append(_created(topic, topic_configs))
        if self.validate_only or not made:
            return Decision(state, results)
        return self._decision(state, made, configs, results)

    def refused(self, error: ErrorCode) -> list[TopicResult]:
        """Return `error` for every topic of the request."""
        return self._all(error, None)

    def _all(self, error: ErrorCode, message: str | None) -> list[TopicResult]:
        return [TopicResult(spec.name, error, message) for spec in self.specs]

    def _requested_partitions(self) -> int:
        """Return how many partitions the request would create; this bounds the work of one event."""
        return sum(len(spec.assignments) or max(spec.num_partitions, 1) for spec in self.specs)

    def _metric_names(self, state: ControllerState) -> dict[str, str]:
        """Return the known topics by metric name; empty if no new topic can collide with one."""
        if all(_metric_name(spec.name) == spec.name and "_" not in spec.name for spec in self.specs):
            return {}
        return {_metric_name(name): name for name in state.topics}

    def _configs(self, spec: TopicSpec) -> dict[str, str]:
        if not spec.configs:
            return {}
        try:
            return check_new_topic(dict(spec.configs), self.config)
        except ConfigError as error:
            raise TopicRefusedError(ErrorCode.INVALID_CONFIG, str(error)) from error

    def _topic(self, spec: TopicSpec, state: ControllerState) -> ControlledTopic:
        replicas = replicas_of_new_topic(spec, state, self.config, self.random)
        topic_id = random_uuid(self.random)
        new = {ids: _new_partition(ids, state) for ids in set(replicas)}
        return ControlledTopic(spec.name, topic_id, tuple(new[ids] for ids in replicas))

    @staticmethod
    def _decision(
        state: ControllerState,
        made: Mapping[str, ControlledTopic],
        configs: Mapping[str, Mapping[str, str]],
        results: list[TopicResult],
    ) -> Decision[list[TopicResult]]:
        writes: list[Op] = []
        for name, topic in made.items():
            assignment = TopicAssignment(
                topic.topic_id, tuple(partition.replicas for partition in topic.partitions)
            )
            # A writer that creates or deletes a topic in steps may leave its configs behind.
            is_left = ("topics", name) in state.entity_configs
            store_configs = SetData if is_left else Create
            writes.append(store_configs(config_path("topics", name), encode_config(configs[name])))
            writes.append(Create(topic_path(name), encode_topic(assignment)))
            writes.append(Create(f"{topic_path(name)}/partitions"))
            writes.extend(_partition_writes(topic, 0, state.epoch))
        config_update = topic_configs(configs)
        after = state.with_topics(made.values()).with_configs(config_update.changed)
        parts = [
            assigned(topic, index, is_new=True)
            for topic in made.values()
            for index in range(len(topic.partitions))
        ]
        updates = to_all(after, metadata_update(after, updated_partitions(after, made.values())))
        return Decision(
            after, results, writes, [*to_all(after, config_update), *roles(after, parts), *updates]
        )


class CreatePartitions(Struct, frozen=True):
    """Event: add partitions to topics with distinct names. A topic that is refused does not stop others."""

    specs: Sequence[PartitionsSpec]
    validate_only: bool

    def decide(self, state: ControllerState) -> Decision[dict[str, TopicOutcome]]:
        """Add the valid partitions in one decision."""
        grown: dict[str, ControlledTopic] = {}
        outcomes = {}
        for spec in self.specs:
            try:
                grown[spec.name] = _grown(spec, state)
                outcomes[spec.name] = TopicOutcome()
            except TopicRefusedError as refusal:
                outcomes[spec.name] = TopicOutcome(refusal.error, refusal.message)
        if self.validate_only or not grown:
            return Decision(state, outcomes)
        writes: list[Op] = []
        added: list[tuple[ControlledTopic, int]] = []
        for name, topic in grown.items():
            existing = len(state.topics[name].partitions)
            assignment = TopicAssignment(
                topic.topic_id, tuple(partition.replicas for partition in topic.partitions)
            )
            writes.append(SetData(topic_path(name), encode_topic(assignment)))
            writes.extend(_partition_writes(topic, existing, state.epoch))
            added.extend((topic, index) for index in range(existing, len(topic.partitions)))
        after = state.with_topics(grown.values())
        parts = [assigned(topic, index, is_new=True) for topic, index in added]
        updates = to_all(after, metadata_update(after, (updated_partition(after, *each) for each in added)))
        return Decision(after, outcomes, writes, [*roles(after, parts), *updates])

    def refused(self, error: ErrorCode) -> dict[str, TopicOutcome]:
        """Return `error` for every topic of the request."""
        return {spec.name: TopicOutcome(error) for spec in self.specs}


def _metric_name(topic: str) -> str:
    """Return the name of a topic in metrics, where "." becomes "_"; topics with equal metric names may not
    coexist.
    """
    return topic.replace(".", "_")


def _check_name(name: str, state: ControllerState, metric_names: Mapping[str, str]) -> None:
    """Refuse a name that is illegal, taken, still being deleted, or whose metrics another topic has."""
    problem = name_problem(name)
    if problem is not None:
        raise TopicRefusedError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}")
    if name in state.topics:
        raise TopicRefusedError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    if name in state.deleting:
        raise TopicRefusedError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' is marked for deletion.")
    known = metric_names.get(_metric_name(name))
    if known is not None:
        raise TopicRefusedError(
            ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {known}"
        )


def _created(topic: ControlledTopic, configs: Mapping[str, str]) -> TopicResult:
    return TopicResult(
        topic.name,
        topic_id=topic.topic_id,
        num_partitions=len(topic.partitions),
        replication_factor=topic.replication_factor,
        configs=configs,
    )


def _grown(spec: PartitionsSpec, state: ControllerState) -> ControlledTopic:
    topic = state.topics.get(spec.name)
    if topic is None:
        raise TopicRefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)
    if any(partition.is_reassigned for partition in topic.partitions):
        raise TopicRefusedError(
            ErrorCode.REASSIGNMENT_IN_PROGRESS,
            f"A partition reassignment is in progress for the topic '{spec.name}'.",
        )
    existing = len(topic.partitions)
    if spec.count == existing:
        raise TopicRefusedError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {existing} partition(s).")
    if spec.count < existing:
        raise TopicRefusedError(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {spec.name} currently has {existing} partition(s); {spec.count} would not be "
            "an increase.",
        )
    if spec.count - existing > MAX_PARTITIONS_PER_REQUEST:
        raise TopicRefusedError(ErrorCode.POLICY_VIOLATION, TOO_MANY_PARTITIONS)
    replicas = replicas_of_more_partitions(spec, topic, state)
    return replace(topic, partitions=topic.partitions + tuple(_new_partition(ids, state) for ids in replicas))


def _new_partition(replicas: tuple[int, ...], state: ControllerState) -> ControlledPartition:
    """Return a new partition: its first live replica leads, all live ones form the ISR, epochs start at 0. A
    broker that shuts down is in the ISR only if no other replica is live.
    """
    there = tuple(broker for broker in replicas if broker in state.brokers)
    live = tuple(broker for broker in there if broker not in state.shutting_down) or there
    return ControlledPartition(live[0] if live else NO_LEADER, 0, live, replicas, 0)


def _partition_writes(topic: ControlledTopic, first: int, controller_epoch: int) -> Iterable[Op]:
    states: dict[ControlledPartition, bytes] = {}
    for index in range(first, len(topic.partitions)):
        partition = topic.partitions[index]
        data = states.get(partition)
        if data is None:
            data = states[partition] = encode_state(partition, controller_epoch)
        yield Create(partition_path(topic.name, index))
        yield Create(partition_state_path(topic.name, index), data)
