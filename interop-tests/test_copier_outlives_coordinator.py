"""A transactional copier outlives the coordinator of its group, which is killed in the middle of its work.

The copier is confluent-kafka. librdkafka from 2.10 on forgets a request that waits for a coordinator when the
broker of that coordinator disappears from Metadata (its issues 5511 and 5456), and then does not come back
from `send_offsets_to_transaction`. The copier ends itself in that case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_cluster import BrokerCluster
from copiers import Copier, confluent
from copying import Source, copied
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from support.eventually import eventually

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.timeout(400)

GROUP = "copiers"
OF_GROUPS = 0
ROUNDS = 2
STEP = 3000
"""Records that take the copier some seconds."""
PATIENCE_S = 60
SETTINGS = (
    *("session.timeout.ms=6000", "heartbeat.interval.ms=500"),
    "topic.metadata.refresh.interval.ms=1000",
)


def coordinator_of(cluster: BrokerCluster, kind: int, key: str) -> int:
    """Return the coordinator of a group or a transactional id; -1 where there is none."""
    with cluster.client(cluster.metadata().controller_id) as client:
        answer = client.call(FindCoordinatorRequest(key=key, key_type=kind), 3)
    return -1 if answer.error_code else int(answer.node_id)


@pytest.mark.thorough("test_transactional_clients.py kills brokers under copiers")
def test_a_transactional_copier_goes_on_when_its_groups_coordinator_is_killed(tmp_path: Path) -> None:
    with BrokerCluster() as cluster:
        source = Source(cluster.bootstrap, ["target"])
        cluster.wait_until_in_sync()
        log = tmp_path / "copier.log"
        copier = Copier("confluent", confluent(), SETTINGS, cluster.bootstrap, "target", GROUP, log)
        copier.tend()
        try:
            for _ in range(ROUNDS):
                before = source.count
                source.add(STEP)
                eventually(lambda least=before: copied(cluster.bootstrap, GROUP) > least, "it copies", 60)
                killed = coordinator_of(cluster, OF_GROUPS, GROUP)
                cluster.brokers[killed].kill()
                source.add(STEP)
                eventually(
                    lambda: copied(cluster.bootstrap, GROUP) == source.count or has_ended(copier),
                    "all is copied",
                    PATIENCE_S,
                )
                assert not has_ended(copier), copier.said()
                cluster.restart(killed)
                cluster.wait_until_in_sync()
        finally:
            copier.kill()


def has_ended(copier: Copier) -> bool:
    """Whether the process of a copier has ended, by itself or by its own alarm."""
    assert copier.process is not None
    return copier.process.poll() is not None
