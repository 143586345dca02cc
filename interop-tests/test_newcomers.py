"""A client that asks a broker about the cluster before the broker itself has heard of it."""

from __future__ import annotations

import re

import pytest
from confluent_kafka import Producer

from broker_cluster import BrokerCluster
from cluster_load import Listener
from support.eventually import Patience, limit_s

TOPIC = "t"
TIMEOUT_S = 60


@pytest.mark.thorough("tests/unit/api/test_first_metadata_update.py")
@pytest.mark.timeout(240)
def test_librdkafka_lets_no_broker_go_for_one_that_has_heard_of_none() -> None:
    """From 2.10 on it believes an answer that names no broker, and has nobody left to ask for minutes."""
    with BrokerCluster(("kcompat",) * 2, {"min.insync.replicas": "1"}) as cluster:
        controller = cluster.metadata().controller_id
        newcomer = cluster.brokers[3 - controller]
        cluster.create_topic(TOPIC, 1, placed=[[3 - controller, controller]])
        shown: list[str] = []  # of how many brokers each answer was that names the topic
        listener = Listener(lambda line: shown.extend(re.findall(r"(\d+) brokers, 1 topics", line)))
        settings = {"bootstrap.servers": cluster.bootstrap, "reconnect.backoff.max.ms": 100}
        producer = Producer({**settings, "debug": "metadata"}, logger=listener)
        producer.produce(TOPIC, b"before")
        assert producer.flush(limit_s(TIMEOUT_S)) == 0
        cluster.freeze(controller)
        try:
            newcomer.kill()
            producer.produce(TOPIC, b"after")
            producer.poll(0)
            shown.clear()
            newcomer.start()
            patience = Patience(TIMEOUT_S)
            while not shown:
                assert patience.lasts
                producer.poll(0.1)
        finally:
            cluster.thaw(controller)
        assert producer.flush(limit_s(TIMEOUT_S)) == 0
        assert "0" not in shown
