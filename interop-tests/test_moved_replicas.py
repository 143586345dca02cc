"""A broker of ours sets aside a replica that moved while it was down, under a controller of either kind.

The process is killed, and the partition moves once its session has ended: nobody sends it a StopReplica.
"""

from __future__ import annotations

import pytest

from broker_cluster import FAILOVER_S, BrokerCluster
from support.eventually import eventually

pytestmark = pytest.mark.thorough("tests/wire/test_strays.py moves a replica of a broker that is down")

KAFKA, OURS = "kafka", "kcompat"
TOPIC = "t"


@pytest.mark.timeout(400)
@pytest.mark.parametrize("controller", [KAFKA, OURS])
def test_a_replica_that_moved_while_its_broker_was_down_is_set_aside(controller: str) -> None:
    with BrokerCluster((controller, OURS, OURS)) as cluster:
        assert cluster.metadata().controller_id == 1
        cluster.create_topic(TOPIC, 1, placed=[[2, 3]])
        directory = cluster.brokers[2].home / "data" / f"{TOPIC}-0"
        eventually(directory.exists, "the replica is made")
        cluster.brokers[2].kill()
        cluster.wait(lambda shown: len(shown.brokers) == 2, FAILOVER_S)
        cluster.reassign(TOPIC, 0, [3, 1])
        assert directory.exists()
        cluster.restart(2)
        cluster.wait_until_in_sync(FAILOVER_S)
        eventually(lambda: not directory.exists(), "the replica is set aside")
        assert list(directory.parent.glob(f"{TOPIC}-0.*-stray"))
