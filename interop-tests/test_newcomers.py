"""A client that asks a broker about the cluster before the broker itself has heard of it."""

from __future__ import annotations

import logging
import os
import re
import signal
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from broker_cluster import BrokerCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.broker_process import BrokerProcess

TOPIC = "t"
TIMEOUT_S = 60


@contextmanager
def silent(broker: BrokerProcess) -> Iterator[None]:
    """The broker neither reads nor writes meanwhile."""
    os.kill(broker.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(broker.pid, signal.SIGCONT)


class Shown(logging.Logger):
    """How many brokers librdkafka was shown with the topic, time and again."""

    def __init__(self) -> None:
        super().__init__("producer", logging.DEBUG)
        self.brokers: list[int] = []

    def handle(self, record: logging.LogRecord) -> None:
        """Keep it, where the line says that."""
        found = re.search(r"(\d+) brokers, 1 topics", record.getMessage())
        if found is not None:
            self.brokers.append(int(found[1]))


@pytest.mark.timeout(240)
def test_librdkafka_lets_no_broker_go_for_one_that_has_heard_of_none() -> None:
    """From 2.10 on it believes an answer that names no broker, and has nobody left to ask for minutes."""
    with BrokerCluster(("kcompat",) * 2, {"min.insync.replicas": "1"}) as cluster:
        controller = cluster.metadata().controller_id
        newcomer = cluster.brokers[3 - controller]
        cluster.create_topic(TOPIC, 1, placed=[[3 - controller, controller]])
        shown = Shown()
        settings = {"bootstrap.servers": cluster.bootstrap, "reconnect.backoff.max.ms": 100}
        producer = Producer({**settings, "debug": "metadata"}, logger=shown)
        producer.produce(TOPIC, b"before")
        assert producer.flush(TIMEOUT_S) == 0
        with silent(cluster.brokers[controller]):
            newcomer.kill()
            producer.produce(TOPIC, b"after")
            producer.poll(0)
            shown.brokers.clear()
            newcomer.start()
            deadline = time.monotonic() + TIMEOUT_S
            while not shown.brokers:
                assert time.monotonic() < deadline
                producer.poll(0.1)
        assert producer.flush(TIMEOUT_S) == 0
        assert 0 not in shown.brokers
