"""Reports of the faults of a running broker, and the rest of its condition."""

from __future__ import annotations

import time

from kcompat import Broker
from kcompat.protocol.messages.metadata import MetadataRequest
from support.raw_client import RawClient


def test_faults_are_reported_also_when_they_are_over() -> None:
    with Broker(record_requests=True, config={"auto.create.topics.enable": False}) as broker:
        with (
            broker.faults.fail("Metadata", "REBALANCE_IN_PROGRESS"),
            RawClient((broker.host, broker.port)) as client,
        ):
            client.call(MetadataRequest(topics=[]), 4)
        broker.faults.delay("Heartbeat", ms=1)
        ended = time.time()
        with broker.disk.fill():
            pass
        condition = broker.condition()
        assert condition.creates_topics is False
        over, there, disk = condition.faults
        assert (over.struck, over.deed, over.makes_answers) == (1, "answered", True)
        [asked] = broker.requests(api="Metadata")
        assert over.exchanges == {(asked.peer, asked.correlation_id)}
        assert over.ended is not None
        assert over.began <= asked.time <= over.ended <= ended
        assert (there.ended, there.struck, there.makes_answers) == (None, 0, False)
        assert (disk.is_of_disk, str(disk.description).endswith(" is full")) == (True, True)
        assert broker.condition(ended).faults == [there, disk]


def test_a_directory_that_is_offline_is_still_felt_when_the_fault_is_over() -> None:
    with Broker() as broker:
        with broker.disk.fail():
            pass
        assert [each.ended for each in broker.condition(time.time()).faults] == [None]
