"""Clients told how old the broker is, which ask nothing: kafka-python 2.0.2 with `api_version`, and kcat with
`broker.version.fallback`. Each reads what the newest client wrote, and the other way round.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from commands import run
from contract import contents
from drivers.base import Record
from drivers.confluent import Confluent
from old_venv import open_in_venv
from support.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from drivers.remote import Remote
    from support.broker_process import BrokerProcess

pytestmark = pytest.mark.thorough("test_kafka_python_2.py and test_kcat.py have the same clients as they are")

CODECS = (None, "gzip", "snappy", "lz4")
RECORDS = [
    Record(b"value", b"key"),
    Record(b"", None),
    Record(None, b"tombstone"),
    *(Record(b"value %d " % n * 40, b"key %d" % n) for n in range(60)),
]
HEADED = [Record(r.value, r.key, (("dropped", b"on the way"),)) for r in RECORDS]


@pytest.fixture
def newest(broker: BrokerProcess) -> Iterator[Confluent]:
    driver = Confluent(broker.bootstrap)
    yield driver
    driver.close()


@pytest.fixture(params=["Pinned082", "Pinned09", "Pinned010", "Pinned011"])
def pinned(request: pytest.FixtureRequest, broker: BrokerProcess) -> Iterator[Remote]:
    opened = open_in_venv("kafka-python-2", "kafka_python", request.param, broker.bootstrap)
    yield opened
    opened.close()


@pytest.mark.parametrize("codec", CODECS)
def test_kafka_python_writes(newest: Confluent, pinned: Remote, name: str, codec: str | None) -> None:
    newest.create_topic(name, 1, {})
    pinned.produce(name, RECORDS, codec)
    assert contents(newest.consume(name, [0], len(RECORDS)), 0) == contents(RECORDS, 0)


@pytest.mark.parametrize("codec", CODECS)
def test_kafka_python_reads(newest: Confluent, pinned: Remote, name: str, codec: str | None) -> None:
    newest.create_topic(name, 1, {})
    newest.produce(name, HEADED, codec)
    newest.produce(name, HEADED, codec)
    count = 2 * len(RECORDS)
    got = pinned.consume(name, [0], count)
    assert contents(got, 0) == contents(RECORDS, 0) * 2
    assert [r.offset for r in got] == list(range(count))
    start = len(RECORDS) + 7
    assert [r.offset for r in pinned.consume(name, [0], count - start, start)] == list(range(start, count))


def test_kafka_python_in_a_group(newest: Confluent, pinned: Remote, name: str) -> None:
    newest.create_topic(name, 1, {})
    newest.produce(name, HEADED)
    first = pinned.join(name, name)
    eventually(lambda: len(pinned.received(first)) == len(RECORDS), "the first has every record")
    assert contents(pinned.received(first), 0) == contents(RECORDS, 0)
    pinned.commit(first, name, 0, 20)
    pinned.leave(first)
    assert newest.committed(name, name, 0) == 20
    second = pinned.join(name, name)
    eventually(lambda: len(pinned.received(second)) == len(RECORDS) - 20, "the second has the rest")
    assert [r.offset for r in pinned.received(second)] == list(range(20, len(RECORDS)))
    pinned.leave(second)


@pytest.fixture(params=["0.8.2.2", "0.9.0"])
def kcat(request: pytest.FixtureRequest, broker: BrokerProcess) -> list[str]:
    if shutil.which("kcat") is None:
        pytest.skip("kcat is not there: apt-get install kcat")
    asks_nothing = ["-X", "api.version.request=false", "-X", f"broker.version.fallback={request.param}"]
    return ["kcat", "-b", broker.bootstrap, "-q", *asks_nothing]


@pytest.mark.parametrize("codec", CODECS)
def test_kcat_writes(newest: Confluent, kcat: list[str], name: str, codec: str | None) -> None:
    newest.create_topic(name, 1, {})
    lines = [f"key {n}:value {n} {'x' * 50}" for n in range(200)]
    command = [*kcat, "-P", "-t", name, "-p", "0", "-K", ":", "-X", f"compression.codec={codec or 'none'}"]
    run(command, "\n".join(lines).encode())
    got = newest.consume(name, [0], len(lines))
    assert [b"%b:%b" % (r.key, r.value) for r in got] == [line.encode() for line in lines]


@pytest.mark.parametrize("codec", CODECS)
def test_kcat_reads(newest: Confluent, kcat: list[str], name: str, codec: str | None) -> None:
    newest.create_topic(name, 1, {})
    sent = [Record(b"value %d" % n * 9, b"key %d" % n, (("h", b"x"),)) for n in range(200)]
    newest.produce(name, sent, codec)
    out = run([*kcat, "-C", "-t", name, "-p", "0", "-o", "beginning", "-e", "-J"])
    got = [json.loads(line) for line in out.splitlines()]
    assert [(r["key"].encode(), r["payload"].encode()) for r in got] == [(r.key, r.value) for r in sent]
    assert [r["offset"] for r in got] == list(range(200))
    assert all("headers" not in r for r in got)
    end = run([*kcat, "-C", "-t", name, "-p", "0", "-o", "150", "-e", "-f", "%o\\n"])
    assert end.split() == [str(n) for n in range(150, 200)]


def test_kcat_in_a_group(newest: Confluent, kcat: list[str], name: str) -> None:
    if "broker.version.fallback=0.8.2.2" in kcat:
        pytest.skip("0.8.2 has no groups")
    newest.create_topic(name, 1, {})
    newest.produce(name, RECORDS[3:13])
    group = ["-X", "session.timeout.ms=6000", "-X", "auto.offset.reset=earliest", "-G", name, name]
    first = run([*kcat, "-c", "6", "-f", "%o\\n", *group]).split()
    second = run([*kcat, "-c", "4", "-f", "%o\\n", *group]).split()
    assert first + second == [str(n) for n in range(10)]
