"""A topic of several brokers under load: what befell it, how long that was felt, and the judgement."""

from __future__ import annotations

import os
import statistics
import time
from functools import partial
from typing import TYPE_CHECKING

from support.eventually import eventually
from support.history import violations
from support.new_epochs import NewEpochs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_cluster import BrokerCluster
    from cluster_load import Load

PARTITIONS = 6
FAULTS = int(os.environ.get("KCOMPAT_FAULTS", "0"))
TIMEOUT_S = 120
IN_SYNC_S = 10


def often(percent: int, least: int = 1) -> range:
    """How often a fault is played."""
    return range(max(least, FAULTS * percent // 100))


def report(what: str, took_s: Sequence[float], bar_s: float) -> None:
    """Print how long something took; many times it must have been no longer than `bar_s`, as the median."""
    median = statistics.median(took_s)
    print(f"\n{what}: median {median:.2f} s of {len(took_s)}, the longest {max(took_s):.2f} s, bar {bar_s} s")
    assert not FAULTS or median <= bar_s


class Proof:
    """A topic of the cluster under load, and the judgement at the end."""

    def __init__(self, cluster: BrokerCluster, topic: str, load: Load, *, idempotent: bool = True) -> None:
        self.cluster = cluster
        self.topic = topic
        self.load = load
        self._idempotent = idempotent
        self.elections: list[float] = []
        """From each fault until others lead (seconds)."""
        self.outages: list[float] = []
        """From each fault to the first acknowledgement of the new leader (seconds)."""
        self._until_whole: list[float] = []

    def leader_of(self, number: int) -> tuple[int, int]:
        """A partition, each in its turn, and its leader."""
        partition = number % PARTITIONS
        return partition, self.cluster.leader_of(self.topic, partition)

    def wait_for_all(self) -> None:
        """Until a record of each partition is acknowledged from now on."""
        now = time.monotonic()
        for partition in range(PARTITIONS):
            self.load.wait_for_acknowledgement(partition, now, TIMEOUT_S)

    def wait_for_another(self, partition: int, former: int, since_s: float) -> None:
        """Until another leads, after a fault that struck the leader at `since_s` (monotonic)."""
        eventually(
            lambda: self.cluster.leader_of(self.topic, partition, but=former) not in (former, -1),
            "another leads",
            TIMEOUT_S,
        )
        now = time.monotonic()
        self.elections.append(now - since_s)
        self.load.wait_for_acknowledgement(partition, now, TIMEOUT_S)
        self.outages.append(self.load.silence_s(partition, since_s))

    def report(self, what: str, bar_s: float) -> None:
        """Say how long the faults were felt."""
        report(f"from {what} until others lead", self.elections, bar_s)
        report(f"from {what} to the first acknowledgement", self.outages, bar_s)

    def wait_until_whole(self) -> None:
        """Until every replica is in sync; all brokers are back."""
        self._until_whole.append(self.cluster.wait_until_in_sync(TIMEOUT_S))

    def judge(self) -> None:
        """All is healed: read everything, and compare what every replica has."""
        self.load.stop()
        self.wait_until_whole()
        longest = max(self._until_whole)
        print(f"\nwhole {longest:.2f} s after the last broker was back, at most")
        assert not FAULTS or longest <= IN_SYNC_S
        self.load.read_to_the_end()
        history = self.load.history
        assert len(history.sent) > 100
        assert self.load.denials == 0
        for partition in range(PARTITIONS):
            eventually(partial(self._are_alike, partition), f"replicas of {partition} are alike")
        logs = {place: self._stored(place[1]).pop() for place in self.load.places}
        epochs = NewEpochs(history, self.load.refusals, logs)
        assert epochs.refused_without_a_gap() == []
        found = violations(history, idempotent=self._idempotent, sent_anew=epochs.sent_anew)
        assert found == [], found[:5]
        print(f"{len(history.sent)} records; producers began {len(self.load.refusals)} epochs")

    def _are_alike(self, partition: int) -> bool:
        return len(self._stored(partition)) == 1

    def _stored(self, partition: int) -> set[bytes]:
        """Return the contents of the replicas; one element means that they are equal."""
        return {self.cluster.stored(each, self.topic, partition) for each in self.cluster.brokers}
