"""Where scenes of a cluster of three brokers are registered, and what they are played on."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

from broker_cluster import settled_replicas
from differential.catalogue import common_versions, release_of
from differential.play import Play
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from broker_cluster import BrokerCluster
    from differential.play import Step

FIRST, SECOND, THIRD = 1, 2, 3
"""Ids of the three brokers."""
BIG = bytes(900_000)
COUNT_OF_BIG = 5
"""A follower takes about one of a partition at once, and then none for 10 s and more at the least rate."""
RATE = "follower.replication.throttled.rate"
SET, DELETE = 0, 1
"""Operations on a config."""


class ResourceType(IntEnum):
    """Types of resources with configs."""

    TOPIC = 2
    BROKER = 4


class Stage:
    """A cluster, connections to its brokers, and what they answered, in the order of the questions."""

    def __init__(self, cluster: BrokerCluster, prefix: str) -> None:
        self.transcript: list[Step] = []
        self.brokers: dict[int, Play] = {}
        for broker_id, broker in cluster.brokers.items():
            self.brokers[broker_id] = Play(broker.port, prefix)
            self.brokers[broker_id].transcript = self.transcript
        self._cluster = cluster
        self._prefix = prefix
        self._numbers = count()
        self._know_the_controller()

    def _know_the_controller(self) -> None:
        controller_id = int(self._cluster.metadata().controller_id)
        self.controller = self.brokers[controller_id]
        self.elsewhere = self.brokers[min(self.brokers.keys() - {controller_id})]
        """A broker that is not the controller."""

    def topic(self, *placed: list[int], configs: Mapping[str, str] | None = None) -> str:
        """A new topic, whose partitions have these replicas."""
        name = f"{self._prefix}-{next(self._numbers)}"
        self._cluster.create_topic(name, 0, placed=placed, configs=configs)
        for index, replicas in enumerate(placed):
            self.settle(name, index, replicas)
        return name

    def directory(self, broker_id: int, name: str) -> str:
        """A log directory of a broker."""
        return f"{self._cluster.brokers[broker_id].home}/{name}"

    def settle(self, topic: str, partition: int, replicas: list[int]) -> None:
        """Wait until every broker shows these replicas in this order, in sync."""
        self._cluster.wait(lambda shown: settled_replicas(shown, topic, partition) == replicas)

    def lose(self, broker_id: int, *then: tuple[str, int, int]) -> None:
        """Stop a broker, and wait until the others show these leaders of partitions, by topic and index."""
        self._cluster.brokers[broker_id].stop()
        self.brokers.pop(broker_id).close()

        def are_led(shown: Any) -> bool:
            leaders = {
                (row.name, part.partition_index): part.leader_id
                for row in shown.topics
                for part in row.partitions
            }
            is_led = all(leaders.get((topic, index)) == leader for topic, index, leader in then)
            return is_led and shown.controller_id in self.brokers

        self._cluster.wait(are_led)
        self._know_the_controller()

    @contextmanager
    def frozen(self, broker_id: int) -> Iterator[None]:
        """Have a broker hang that is not the controller."""
        assert self.controller is not self.brokers[broker_id]
        self._cluster.freeze(broker_id)
        try:
            yield
        finally:
            self._cluster.thaw(broker_id)

    def lead_elsewhere(self, topic: str, replicas: list[int]) -> None:
        """Have the only partition of a topic led by the first of its replicas, in this new order."""
        row = {"partition_index": 0, "replicas": replicas}
        moves = [{"name": topic, "partitions": [row]}]
        self.controller.do(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, topics=moves, timeout_ms=10_000)
        asked = [{"topic": topic, "partitions": [0]}]

        def is_elected() -> bool:
            answer = self.controller.do(
                ApiKey.ELECT_LEADERS, 2, election_type=0, topic_partitions=asked, timeout_ms=10_000
            )
            return bool(answer.replica_election_results[0].partition_result[0].error_code == 0)

        self.controller.until(is_elected, "another replica leads")

    @contextmanager
    def held_up(self, topic: str, *partitions: int) -> Iterator[None]:
        """Have the third broker take longer than a scene lasts to follow partitions that the first leads."""
        for index in partitions:
            for _ in range(COUNT_OF_BIG):
                self.brokers[FIRST].append(topic, BIG, partition=index, times=[int(time.time() * 1000)])
        throttled = "follower.replication.throttled.replicas"
        self._configure(self.controller, ResourceType.TOPIC, topic, throttled, "*")
        # Changes are heard of in order: who knows this one knows that as well.
        third = self.brokers[THIRD]
        self._configure(third, ResourceType.BROKER, str(THIRD), RATE, "1")
        asked = {"resource_type": ResourceType.BROKER, "resource_name": str(THIRD)}

        def is_known() -> bool:
            found = third.do(ApiKey.DESCRIBE_CONFIGS, 1, resources=[{**asked, "configuration_keys": [RATE]}])
            return [row.value for row in found.results[0].configs] == ["1"]

        third.until(is_known, "the broker is held up")
        yield
        self._configure(third, ResourceType.BROKER, str(THIRD), RATE, None)

    @staticmethod
    def _configure(play: Play, kind: ResourceType, name: str, key: str, value: str | None) -> None:
        change = {"name": key, "config_operation": DELETE if value is None else SET, "value": value}
        asked = [{"resource_type": kind, "resource_name": name, "configs": [change]}]
        answer = play.do(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources=asked)
        assert answer.responses[0].error_code == 0, answer

    def close(self) -> None:
        """Close the connections."""
        for play in self.brokers.values():
            play.close()


Scene: TypeAlias = Callable[[Stage, int], None]


@dataclass(frozen=True)
class Played:
    """A scene, its API and the versions that it is played at."""

    scene: Scene
    key: ApiKey
    versions: Sequence[int]


SCENES: list[Played] = []


def scene(key: ApiKey) -> Callable[[Scene], Scene]:
    """Play the decorated scene at every version of `key` that a Kafka 3.9.2 serves."""

    def register(scene: Scene) -> Scene:
        versions = [each for each in common_versions(key) if release_of(key, each) == "3.9.2"]
        SCENES.append(Played(scene, key, versions))
        return scene

    return register
