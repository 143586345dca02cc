"""A suite of tests that was written for kcompat, run against a real Kafka by one option."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from real_kafka import RealKafka

if TYPE_CHECKING:
    from collections.abc import Callable

pytest_plugins = ["pytester", "support.plugin_runs"]
pytestmark = pytest.mark.thorough("tests/wire/test_pytest_plugin.py, where the external broker is a kcompat")

TESTS = """
from confluent_kafka import Consumer, Producer

def test_orders(kafka_client_config, kafka_topic):
    producer = Producer(kafka_client_config)
    producer.produce(kafka_topic, b"order")
    assert producer.flush(20) == 0
    consumer = Consumer({**kafka_client_config, "group.id": kafka_topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([kafka_topic])
    assert consumer.poll(30).value() == b"order"
    consumer.close()

def test_what_only_kcompat_has(kafka_broker):
    kafka_broker.reset()
"""


def test_tests_run_against_a_kafka(
    pytester: pytest.Pytester, run_pytest: Callable[..., pytest.RunResult]
) -> None:
    pytester.makepyfile(TESTS)
    with RealKafka() as kafka:
        ran = run_pytest("-p", "no:asyncio", f"--kcompat-external={kafka.bootstrap}")
    ran.assert_outcomes(passed=1, failed=1)
    ran.stdout.fnmatch_lines(
        ["*UsageError: the broker at * has no 'reset', which only a kcompat.Broker has*"]
    )
