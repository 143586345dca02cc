"""A consumer is killed: who is left has its partitions long before its session would have ended, as its
connection has told. A real Kafka waits for the session.

As a program it is the consumer that is killed; it says so when it has its partition.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic

from support.eventually import Patience

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.broker_process import BrokerProcess

SESSION_S = 30
SETTINGS = {
    f"group.consumer.{key}": str(SESSION_S * 1000) for key in ("session.timeout.ms", "min.session.timeout.ms")
}
PARTITIONS = 2


def member(bootstrap: str, topic: str, protocol: str) -> Consumer:
    """Return a member of the group with the topic's name."""
    classic = {"session.timeout.ms": SESSION_S * 1000, "heartbeat.interval.ms": 1000}
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": topic,
            "group.protocol": protocol,
            **(classic if protocol == "classic" else {}),
        }
    )
    consumer.subscribe([topic])
    return consumer


def poll_until_it_has(consumer: Consumer, partitions: int) -> None:
    """Take part in the group until this many partitions are assigned."""
    patience = Patience(3 * SESSION_S)
    while len(consumer.assignment()) != partitions:
        assert patience.lasts, consumer.assignment()
        consumer.poll(0.1)


@pytest.mark.parametrize(
    "protocol", ["classic", pytest.param("consumer", marks=pytest.mark.thorough("the same with classic"))]
)
def test_the_partitions_of_a_killed_member_go_to_the_other(
    new_broker: Callable[..., BrokerProcess], name: str, protocol: str, request: pytest.FixtureRequest
) -> None:
    is_ours = request.config.getoption("--target") == "kcompat"
    if not is_ours and protocol == "consumer":
        pytest.skip("3.9.2 has such groups for those alone who ask for them")
    with new_broker(properties=SETTINGS) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic(name, PARTITIONS)])[name].result()
        survivor = member(broker.bootstrap, name, protocol)
        poll_until_it_has(survivor, PARTITIONS)
        program = [sys.executable, __file__, broker.bootstrap, name, protocol]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(program, stdout=subprocess.PIPE, text=True, env=environment) as other:
            poll_until_it_has(survivor, 1)
            assert other.stdout is not None
            assert other.stdout.readline() == "it has one\n"
            other.kill()
        killed_s = time.monotonic()
        poll_until_it_has(survivor, PARTITIONS)
        took_s = time.monotonic() - killed_s
        survivor.close()
    assert (took_s < 0.8 * SESSION_S) is is_ours, took_s


if __name__ == "__main__":
    victim = member(*sys.argv[1:])
    poll_until_it_has(victim, 1)
    print("it has one", flush=True)
    while True:
        victim.poll(1)
