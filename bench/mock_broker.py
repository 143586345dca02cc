"""librdkafka's mock cluster in a process of its own: prints its port and runs until it is ended."""

from __future__ import annotations

import sys

from confluent_kafka import Producer


def main() -> None:
    producer = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": ""})
    broker = next(iter(producer.list_topics(timeout=10).brokers.values()))
    print(broker.port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
