"""A broker as the controller sees it, which takes every order, and its registration in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.cluster import znodes
from kcompat.cluster.control_requests import LeaderAndIsr, Reply, StopReplica, UpdateConfigs, UpdateMetadata
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.cluster.znodes import BrokerRegistration
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.cluster.control_requests import Answered, AssignedPartition, ControlRequest
    from kcompat.cluster.image import ClusterImage
    from kcompat.store.interface import MetadataStore


def registration_of(broker_id: int) -> BrokerRegistration:
    """Return the registration of a broker."""
    return BrokerRegistration({"PLAINTEXT": (f"h{broker_id}", 9092)}, {"PLAINTEXT": "PLAINTEXT"})


async def register(session: MetadataStore, broker_id: int) -> int:
    """Register a broker for as long as this session lives, and no longer; its broker epoch."""
    path, data = znodes.broker_path(broker_id), znodes.encode_broker(registration_of(broker_id), 0)
    await session.create(path, data, ephemeral=True)
    _, stat = await session.get(path)
    return stat.czxid


class FakeBroker:
    """Takes every role, but for partitions in `broken`. It answers at once, or when the test says so."""

    def __init__(self, cluster: MetadataCache | None = None) -> None:
        self.cluster = cluster or MetadataCache("the-cluster")
        self.roles: dict[tuple[str, int], AssignedPartition] = {}
        self.closed = 0
        self.deleted: list[tuple[str, int]] = []
        self.broken: set[tuple[str, int]] = set()
        self.bugs: dict[type, Exception] = {}
        self.held: list[Callable[[], object]] | None = None

    @property
    def image(self) -> ClusterImage:
        return self.cluster.image

    def give(self, news: ControlRequest, answered: Answered) -> None:
        if type(news) in self.bugs:
            raise self.bugs[type(news)]
        if self.held is None:
            answered(self._reply(news))
        else:
            self.held.append(lambda: answered(self._reply(news)))

    def close(self) -> None:
        self.closed += 1

    def _reply(self, news: ControlRequest) -> Reply:
        match news:
            case LeaderAndIsr():
                for part in news.partitions:
                    self.roles[part.topic, part.index] = part
                return self._errors(
                    [(part.topic, part.index) for part in news.partitions if part.role.leader >= 0]
                )
            case StopReplica():
                stopped = [(part.topic, part.index) for part in news.partitions if part.delete]
                self.deleted += [partition for partition in stopped if partition not in self.broken]
                return self._errors(stopped)
            case UpdateMetadata() | UpdateConfigs():
                self.cluster.apply(news)
                return Reply()

    def _errors(self, partitions: Sequence[tuple[str, int]]) -> Reply:
        return Reply(
            partitions={each: ErrorCode.KAFKA_STORAGE_ERROR for each in partitions if each in self.broken}
        )

    def release(self) -> None:
        """Do and answer what was held, and from now on at once."""
        held, self.held = self.held, None
        for act in held or ():
            act()
