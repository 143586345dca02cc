"""The Java clients of 0.8.2 to 2.8: each reads what the newest client wrote, and the other way round.

Our small programs in `java/` are compiled here against each release. 0.8.2 has the first Java producer and
the SimpleConsumer of the Scala days. Before 0.10.2 no Java client asks what a broker can do.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from commands import QUICK_JVM, compile_java, run
from contract import contents
from drivers.base import Record
from drivers.confluent import Confluent
from support.places import CACHE, REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.broker_process import BrokerProcess

SOURCES = REPOSITORY / "interop-tests" / "java"
FIRST = "0.8.2.2"
RELEASES = (FIRST, "0.9.0.1", "0.10.2.2", "0.11.0.3", "1.1.1", "2.8.2")
CODECS = ("none", "gzip", "snappy", "lz4")
BETWEEN = RELEASES[1:-1]
"""Releases whose record formats the differential test and other clients have, too."""
FIRST_WITH_ZSTD = "2.8.2"
WITHOUT_TIMESTAMPS = (FIRST, "0.9.0.1")
RECORDS = [
    Record(b"value", b"key"),
    Record(b"", None),
    Record(None, b"tombstone"),
    *(Record(b"value %d " % n * 40, b"key %d" % n) for n in range(60)),
]


def show(field: bytes | None) -> str:
    return "." if field is None else f"x{field.hex()}"


def lines_of(records: list[Record]) -> str:
    return "".join(f"{show(r.key)} {show(r.value)}\n" for r in records)


@dataclass(frozen=True)
class Release:
    """One release: its jars and our programs, compiled against them."""

    version: str
    classes: Path
    broker: BrokerProcess

    @property
    def codecs(self) -> tuple[str, ...]:
        return (*CODECS, "zstd") if self.version == FIRST_WITH_ZSTD else CODECS

    def run(self, program: str, *arguments: str, text: str = "") -> list[str]:
        path = f"{self.classes}:{CACHE}/kafka-{self.version}/libs/*:{SOURCES}/conf"
        return run([*QUICK_JVM, "-cp", path, program, *arguments], text.encode()).splitlines()


@pytest.fixture(scope="session")
def classes() -> dict[str, Path]:
    """Where the programs of each release are, once compiled."""
    return {}


@pytest.fixture(
    params=[
        pytest.param(release, marks=pytest.mark.thorough("the releases before and after it"))
        if release in BETWEEN
        else release
        for release in RELEASES
    ]
)
def release(
    request: pytest.FixtureRequest,
    broker: BrokerProcess,
    classes: dict[str, Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Release:
    version: str = request.param
    libs = CACHE / f"kafka-{version}" / "libs"
    if shutil.which("javac") is None or not libs.is_dir():
        pytest.skip("install a Java 17 JDK and run python interop-tests/fetch.py jars")
    if version not in classes:
        target = tmp_path_factory.mktemp(f"java-{version}")
        names = ("old/Bytes", "old/Produce", "scala/SimpleConsume" if version == FIRST else "old/Consume")
        sources = [SOURCES / f"{name}.java" for name in names]
        compile_java(f"{libs}/*", target, *sources)
        classes[version] = target
    return Release(version, classes[version], broker)


@pytest.fixture
def newest(broker: BrokerProcess) -> Iterator[Confluent]:
    driver = Confluent(broker.bootstrap)
    yield driver
    driver.close()


def consume(release: Release, topic: str, count: int, start: str) -> list[tuple[int, int, str, str]]:
    """Offset, timestamp, key and value of each record."""
    if release.version == FIRST:
        host, port = release.broker.bootstrap.split(":")
        said = release.run("SimpleConsume", host, port, topic, str(count), start)
        assert said[-3:] == [f"metadata {port}", f"offsets 0 {count}", f"committed {count}"]
        said = said[:-3]
    else:
        said = release.run("Consume", release.broker.bootstrap, topic, str(count), start)
    rows = [line.split(" ") for line in said]
    return [(int(offset), int(timestamp), key, value) for offset, timestamp, key, value in rows]


def test_what_it_writes_the_newest_reads(release: Release, newest: Confluent, name: str) -> None:
    newest.create_topic(name, 1, {})
    said = release.run("Produce", release.broker.bootstrap, name, *release.codecs, text=lines_of(RECORDS))
    assert said == [str(n) for n in range(len(RECORDS) * len(release.codecs))]
    got = newest.consume(name, [0], len(said))
    assert contents(got, 0) == contents(RECORDS, 0) * len(release.codecs)


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "in a group"])
def test_what_the_newest_writes_it_reads(release: Release, newest: Confluent, name: str, alone: bool) -> None:
    newest.create_topic(name, 1, {})
    headed = [Record(r.value, r.key, (("dropped", b"before 0.11"),)) for r in RECORDS]
    for codec in release.codecs:
        newest.produce(name, headed, codec)
    count = len(RECORDS) * len(release.codecs)
    got = consume(release, name, count, name if not alone or release.version == FIRST else "0")
    assert [row[0] for row in got] == list(range(count))
    assert [row[2:] for row in got] == [(show(r.key), show(r.value)) for r in RECORDS] * len(release.codecs)
    assert all((row[1] == -1) == (release.version in WITHOUT_TIMESTAMPS) for row in got)
    if not alone:
        assert newest.committed(name, name, 0) == count


def test_it_reads_from_the_middle(release: Release, newest: Confluent, name: str) -> None:
    if release.version == FIRST:
        pytest.skip("its program reads from the start")
    newest.create_topic(name, 1, {})
    for codec in CODECS:
        newest.produce(name, RECORDS, codec)
    start = len(RECORDS) + 30
    count = len(RECORDS) * len(CODECS) - start
    assert [row[0] for row in consume(release, name, count, str(start))] == list(range(start, start + count))
