from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.control_requests import Role
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.config.broker import BrokerConfig
from kcompat.config.topic import topic_config
from kcompat.log.loader import create_log
from kcompat.records.batch import build_batch, read_header
from kcompat.records.record import Record
from kcompat.replication.replica_manager import ReplicaManager
from kcompat.replication.storage_config import log_config
from support.replica_moves import SLOW, MovesFixture
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kcompat.log.context import LogContext
    from kcompat.replication.partition import Partition

ME = 1
ALONE = Role(leader=ME, leader_epoch=0, isr=(ME,), replicas=(ME,))


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def cluster() -> MetadataCache:
    return MetadataCache("cluster")


@pytest.fixture
def replicas(clock: VirtualClock, cluster: MetadataCache) -> ReplicaManager:
    return ReplicaManager(ME, clock, cluster)


@pytest.fixture
def make_partition(tmp_path: Path, replicas: ReplicaManager) -> Callable[..., Partition]:
    def make(
        topic: str = "t",
        index: int = 0,
        role: Role | None = ALONE,
        context: LogContext | None = None,
        **overrides: str,
    ) -> Partition:
        config = topic_config(
            BrokerConfig(), {name.replace("_", "."): text for name, text in overrides.items()}
        )
        directory = tmp_path / f"{topic}-{index}"
        log = create_log(
            directory, topic, index, log_config(config), topic_id=bytes(16), now_ms=0, context=context
        )
        partition = replicas.add(log, config, high_watermark=0)
        if role is not None:
            replicas.take_role(topic, index, role)
        return partition

    return make


def append(partition: Partition, *values: bytes, acks: int = 1, timestamp: int = 1000) -> object:
    records = [Record(at, timestamp + at, None, value) for at, value in enumerate(values)]
    batch = memoryview(build_batch(records))
    return partition.append(batch, read_header(batch), acks, now_ms=5000)


@pytest.fixture
def slow(tmp_path: Path) -> MovesFixture:
    """A broker on which a move takes long enough for something to happen meanwhile."""
    return MovesFixture(tmp_path, bytes_per_second=SLOW)
