"""Accidents of the disks of a simulated cluster: they become full, fail for a while, or are replaced."""

from __future__ import annotations

import shutil
from collections import Counter
from typing import TYPE_CHECKING, Final

from kcompat.log.names import parse_partition_directory, partition_directory

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from support.history import Place
    from support.virtual_cluster import VirtualCluster

MOST_ROOM: Final = 3000
"""Bytes that are left on a disk that is about to be full."""


class DiskAccidents:
    """The accidents of the disks in one story."""

    def __init__(self, cluster: VirtualCluster, random: Random) -> None:
        self._cluster = cluster
        self._random = random
        self._left: dict[tuple[int, Place], str] = {}
        """The disk with which a broker lost its only log of a partition: one on another disk is newer."""

    def fill(self) -> None:
        """A disk is about to be full."""
        broker_id, name = self._one()
        self._cluster.fill_disk(broker_id, name, self._random.randint(0, MOST_ROOM))

    def fail(self) -> None:
        """A disk fails."""
        broker_id, name = self._one()
        copies = self._copies(broker_id)
        for place in _logs_on(self._disk(broker_id, name)):
            if copies[place] == 1:
                self._left[broker_id, place] = name
        self._cluster.fail_disk(broker_id, name)

    def _one(self) -> tuple[int, str]:
        cluster = self._cluster
        return self._random.choice(cluster.broker_ids), self._random.choice(cluster.disk_names)

    def mend(self) -> None:
        """Room is made on the disks of a broker, and those that failed work again. If the broker does not run
        and they are not needed, others take their place, which are empty.
        """
        troubled = [broker_id for broker_id, trouble in self._cluster.disks.items() if trouble.is_any]
        if troubled:
            self._mend(self._random.choice(troubled))

    def _mend(self, broker_id: int) -> None:
        cluster = self._cluster
        is_here = (
            broker_id in cluster.running or broker_id in cluster.starting or broker_id in cluster.stopping
        )
        failed = [name for name in cluster.disk_names if cluster.disks[broker_id].is_failed(name)]
        if not is_here and broker_id not in cluster.without_power:
            for name in failed:
                self._replace(broker_id, name)
        cluster.mend_disks(broker_id)

    def _replace(self, broker_id: int, name: str) -> None:
        """Unless the broker has something on it that may be nowhere else."""
        disk = self._disk(broker_id, name)
        states = self._cluster.store.states
        if not any(place in states and broker_id in states[place].isr for place in _logs_on(disk)):
            self._cluster.happened(f"{name} of broker {broker_id} is replaced")
            shutil.rmtree(disk, ignore_errors=True)

    def mend_all(self) -> None:
        """All disks work, and have room."""
        for broker_id, trouble in self._cluster.disks.items():
            if trouble.is_any:
                self._cluster.mend_disks(broker_id)

    def drop_what_is_left(self, broker_id: int) -> None:
        """Where a partition has logs on two disks of a broker, which does not start then, delete the one that
        was on a disk that had failed when the other was made.
        """
        for place, count in self._copies(broker_id).items():
            if count > 1:
                name, log = self._left[broker_id, place], partition_directory(*place)
                self._cluster.happened(f"the older {log} is deleted from {name} of broker {broker_id}")
                shutil.rmtree(self._disk(broker_id, name) / log)

    def _copies(self, broker_id: int) -> Counter[Place]:
        """On how many of a broker's disks each partition has a log."""
        disks = [self._disk(broker_id, name) for name in self._cluster.disk_names]
        return Counter(place for disk in disks for place in _logs_on(disk))

    def _disk(self, broker_id: int, name: str) -> Path:
        return self._cluster.brokers.home_of(broker_id) / name


def _logs_on(disk: Path) -> list[Place]:
    """The partitions that have a log there."""
    names = sorted(each.name for each in disk.iterdir()) if disk.exists() else []
    return [place for name in names if (place := parse_partition_directory(name)) is not None]
