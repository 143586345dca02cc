"""Tests that are coroutines, of asyncio with aiokafka and of trio, with the fixtures of the pytest plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

pytest_plugins = ["pytester", "support.plugin_runs"]

TESTS = """
import aiokafka
import confluent_kafka
import pytest
import trio


@pytest.mark.asyncio
async def test_asyncio(kafka_client_config, kafka_topic):
    settings = kafka_client_config("aiokafka")
    async with aiokafka.AIOKafkaProducer(**settings) as producer:
        await producer.send_and_wait(kafka_topic, b"order")
    async with aiokafka.AIOKafkaConsumer(
        kafka_topic, **settings, group_id=kafka_topic, auto_offset_reset="earliest"
    ) as consumer:
        assert (await consumer.getone()).value == b"order"


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_trio(kafka_client_config, kafka_topic, anyio_backend):
    producer = confluent_kafka.Producer(kafka_client_config("confluent"))
    producer.produce(kafka_topic, b"order")
    assert await trio.to_thread.run_sync(producer.flush, 20) == 0
"""


def test_coroutines_have_the_same_fixtures(
    pytester: pytest.Pytester, run_pytest: Callable[..., pytest.RunResult]
) -> None:
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    pytester.makepyfile(TESTS)
    run_pytest().assert_outcomes(passed=2)
