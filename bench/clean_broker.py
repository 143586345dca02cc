"""How long `Broker.reset()` takes with 50 topics, and how long a thousand tests that use it take.

    python bench/clean_broker.py [RESETS [TESTS]]

Each test makes a producer and a consumer of a new group with aiokafka, which never pauses (librdkafka waits
100 ms before it asks for an offset where none is committed), sends a record, receives it and resets.
"""

from __future__ import annotations

import asyncio
import sys
import time
from statistics import quantiles

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from kcompat import Broker

TOPICS = 50
SETTLED_S = 1.0
"""Seconds after a start in which a broker makes directories and imports the rest of its modules."""


def resets(count: int) -> list[float]:
    """Return the seconds of each reset, and of a start and a stop first of all."""
    begin = time.perf_counter()
    with Broker(topics={f"topic-{number}": 1 for number in range(TOPICS)}) as broker:
        taken = [time.perf_counter() - begin]
        time.sleep(SETTLED_S)
        for _ in range(count):
            begin = time.perf_counter()
            broker.reset()
            taken.append(time.perf_counter() - begin)
    return taken


async def one_test(bootstrap_servers: str) -> None:
    """Send a record to a topic that does not exist yet, and receive it in a group that does not either."""
    async with AIOKafkaProducer(bootstrap_servers=bootstrap_servers) as producer:
        await producer.send_and_wait("orders", b"order")
    consumer = AIOKafkaConsumer(
        "orders", group_id="billing", bootstrap_servers=bootstrap_servers, auto_offset_reset="earliest"
    )
    async with consumer:
        assert (await consumer.getone()).value == b"order"


async def tests(count: int) -> float:
    """Return the seconds that so many tests take together."""
    with Broker() as broker:
        begin = time.perf_counter()
        for _ in range(count):
            await one_test(broker.bootstrap_servers)
            broker.reset()
        return time.perf_counter() - begin


def main(counts: list[int]) -> None:
    """Measure and print."""
    reset_count, test_count = (*counts, *(1000, 1000)[len(counts) :])
    start, *taken = resets(reset_count)
    percent = quantiles(taken, n=100)
    print(f"start with {TOPICS} topics: {start * 1e3:.0f} ms")
    print(
        f"{reset_count} resets with {TOPICS} topics: p50 {percent[49] * 1e3:.1f} ms, "
        f"p99 {percent[98] * 1e3:.1f} ms, longest {max(taken) * 1e3:.1f} ms"
    )
    elapsed = asyncio.run(tests(test_count))
    print(f"{test_count} tests that produce, consume in a new group and reset: {elapsed:.1f} s")


if __name__ == "__main__":
    main([int(each) for each in sys.argv[1:]])
