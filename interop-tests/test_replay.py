"""Requests of real clients recorded on our broker and played to a Kafka, which answers the same."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, Producer
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic

from drivers.kafka_python import JOIN_MS, subscribed
from kcompat import Broker
from real_kafka import RealKafka
from support.eventually import Patience, limit_s

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

PATIENCE_S = 60.0


def use_kafka_python(servers: str) -> None:
    """Create a topic, write keyed records, and read them in a group."""
    admin = KafkaAdminClient(bootstrap_servers=servers)
    admin.create_topics([NewTopic("orders", 3, 1)])
    producer = KafkaProducer(bootstrap_servers=servers)
    for number in range(20):
        producer.send("orders", key=b"%d" % number, value=b"v" * number)
    producer.close()
    consumer = subscribed("orders", bootstrap_servers=servers, group_id="g", auto_offset_reset="earliest")
    count, patience = 0, Patience(PATIENCE_S)
    while count < 20:
        assert patience.lasts, "not all records came"
        count += sum(map(len, consumer.poll(JOIN_MS).values()))
    consumer.close()
    admin.close()


def use_transactions(servers: str) -> None:
    """Commit one transaction, abort another one, and read what is committed."""
    producer = Producer({"bootstrap.servers": servers, "transactional.id": "tx"})
    producer.init_transactions(limit_s(PATIENCE_S))
    for ends in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        for number in range(5):
            producer.produce("payments", b"v%d" % number)
        producer.flush(limit_s(PATIENCE_S))
        ends(limit_s(PATIENCE_S))
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "h", "auto.offset.reset": "earliest"})
    consumer.subscribe(["payments"])
    count, patience = 0, Patience(PATIENCE_S)
    while count < 5:
        assert patience.lasts, "not all records came"
        message = consumer.poll(1)
        count += message is not None and not message.error()
    consumer.close()


def replayed(record: Path, servers: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kcompat", "replay", str(record), servers],
        capture_output=True, text=True, timeout=limit_s(300), check=False,
    )  # fmt: skip


def test_a_kafka_answers_as_recorded_and_what_differs_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = tmp_path / "record"
    with monkeypatch.context() as patch:
        patch.setenv("KCOMPAT_RECORD", str(record))
        with Broker() as broker:
            use_kafka_python(broker.bootstrap_servers)
            use_transactions(broker.bootstrap_servers)
    with RealKafka() as kafka:
        first = replayed(record, kafka.bootstrap)
        assert (first.returncode, first.stderr) == (0, ""), first.stdout
        played = re.search(r"(\d+) requests played, (\d+) answers compared, no difference", first.stdout)
        assert played is not None, first.stdout
        assert int(played[2]) >= 30

        again = replayed(record, kafka.bootstrap)  # the topics exist now, and hold records
        assert again.returncode == 1
        assert "topics[0].error_code: recorded NONE, now TOPIC_ALREADY_EXISTS" in again.stdout
        assert re.search(r"partition_responses\[0\].base_offset: recorded \d+, now \d+", again.stdout)
