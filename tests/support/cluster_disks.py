"""What befalls the disks of a simulated cluster: they become full, fail for a while, or are replaced."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final

from kcompat.log.names import parse_partition_directory

if TYPE_CHECKING:
    from random import Random

    from support.virtual_cluster import VirtualCluster

MOST_ROOM: Final = 3000
"""Bytes that are left on a disk that is about to be full."""


class DiskAccidents:
    """One story's."""

    def __init__(self, cluster: VirtualCluster, random: Random) -> None:
        self._cluster = cluster
        self._random = random

    def fill(self) -> None:
        """A disk is about to be full."""
        broker_id, name = self._one()
        self._cluster.fill_disk(broker_id, name, self._random.randint(0, MOST_ROOM))

    def fail(self) -> None:
        """A disk fails."""
        self._cluster.fail_disk(*self._one())

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
        disk = self._cluster.brokers.home_of(broker_id) / name
        states = self._cluster.store.states
        here = [parse_partition_directory(each.name) for each in disk.iterdir()] if disk.exists() else []
        if not any(place in states and broker_id in states[place].isr for place in here if place):
            self._cluster.happened(f"{name} of broker {broker_id} is replaced")
            shutil.rmtree(disk, ignore_errors=True)

    def mend_all(self) -> None:
        """All disks work, and have room."""
        for broker_id, trouble in self._cluster.disks.items():
            if trouble.is_any:
                self._cluster.mend_disks(broker_id)
