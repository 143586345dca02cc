"""See kcompat work: a broker, ordinary clients that know nothing of it, and Spark's own Kafka connector.

``python demo/run.py`` needs nothing but kcompat and the clients; with a Java runtime and pyspark it also runs
a Spark streaming query. Everything it makes is in a temporary directory that is gone afterwards.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "spark-examples")]

import clients  # noqa: E402
from console import Console  # noqa: E402
from orders import TOPIC, Order, orders, totals  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

LIVE_RATE = 2_000
LIVE_SECONDS = 10
SPARK_LIMIT_S = 180
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A query this small is over before the optimising compiler has paid for itself."""

Totals = dict[str, tuple[int, int]]


@contextmanager
def running_broker(data: Path) -> Iterator[tuple[str, int]]:
    """The broker's own command in a process of its own; its address and process id."""
    command = [sys.executable, "-m", "kcompat", "start", "--port", "0", "--data-dir", str(data)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own command
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        port = re.search(r":(\d+)", said)
        if port is None:
            raise RuntimeError(f"the broker did not start: {said or 'it said nothing'}")
        yield f"127.0.0.1:{port[1]}", process.pid
    finally:
        process.terminate()
        process.wait(20)
        if process.stdout is not None:
            process.stdout.close()


def memory_mb(pid: int) -> int:
    """Resident memory of a process in MB; 0 where the system does not tell."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) // 1024 if found else 0


def what_spark_lacks() -> str | None:
    """One sentence about what to install for the Spark part; None when all is there. Fetches the jars."""
    if shutil.which("java") is None:
        return "Spark needs a Java runtime: install version 17, such as the package openjdk-17-jre-headless."
    if importlib.util.find_spec("pyspark") is None:
        return "Spark's Python package is missing: pip install pyspark==4.2.0."
    fetch = HERE.parent / "interop-tests" / "fetch.py"
    part = "spark-connector"
    fetched = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, str(fetch), part], capture_output=True, text=True, check=False
    )
    if fetched.returncode:
        return (
            f"Spark's Kafka connector cannot be fetched: {fetched.stderr.strip().removeprefix(f'{part}: ')}."
        )
    return None


class Demo:
    """The demo's parts, in the order in which they are shown."""

    def __init__(self, console: Console, scale: float) -> None:
        self.console = console
        self.by_kafka_python = int(20_000 * scale)
        self.by_confluent = int(200_000 * scale)
        self.live = int(LIVE_RATE * LIVE_SECONDS * scale)
        self.proofs: list[tuple[str, bool]] = []

    def run(self) -> bool:
        """Show everything; whether all that was to be proved holds."""
        with tempfile.TemporaryDirectory(prefix="kcompat-demo-") as temporary:
            home = Path(temporary)
            self.console.heading("A broker")
            began = time.monotonic()
            with running_broker(home / "data") as (bootstrap, pid):
                ready_ms = (time.monotonic() - began) * 1000
                self.console.line(
                    f"kcompat start: listening on {bootstrap} after {ready_ms:.0f} ms, {memory_mb(pid)} MB"
                )
                self.produce(bootstrap)
                self.read(bootstrap)
                with self.console.waiting("looking for Spark and its connector"):
                    lacking = what_spark_lacks()
                if lacking is None:
                    self.spark(bootstrap, home)
                self.console.heading("What this showed")
                for sentence, holds in self.proofs:
                    self.console.proof(sentence, holds=holds)
                self.console.line(f"The broker is one Python process; it holds {memory_mb(pid)} MB now.")
                if lacking is not None:
                    self.console.line(f"Not shown: a Spark streaming query. {lacking}")
        return all(holds for _, holds in self.proofs)

    def produce(self, bootstrap: str) -> None:
        """Write the first orders with two clients."""
        self.console.heading("Records from ordinary clients")
        python, confluent = clients.versions()
        clients.create_topic(bootstrap)
        first, second = self.written()
        for name, count, produce, some in (
            (python, self.by_kafka_python, clients.produce_with_kafka_python, first),
            (confluent, self.by_confluent, clients.produce_with_confluent, second),
        ):
            began = time.monotonic()
            produce(bootstrap, some, lambda sent, name=name, count=count: self.console.bar(name, sent, count))
            seconds = time.monotonic() - began
            self.console.line(f"{name} wrote {count:,} orders in {seconds:.1f} s, each acknowledged")

    def written(self) -> tuple[Iterator[Order], Iterator[Order]]:
        """Return the orders that the two clients write, the same ones at each call."""
        return orders(0, self.by_kafka_python), orders(self.by_kafka_python, self.by_confluent)

    def read(self, bootstrap: str) -> None:
        """Read the orders back and compare them with what was written."""
        expected = self.by_kafka_python + self.by_confluent
        partitions = clients.read_back(
            bootstrap, expected, lambda read: self.console.bar("a consumer group", read, expected)
        )
        self.console.line(f"a consumer group read {sum(map(len, partitions)):,} orders back")
        equal = sorted(chain(*partitions), key=lambda order: order.number) == list(chain(*self.written()))
        self.proofs.append((f"{expected:,} records came back, every one equal to what was written", equal))
        sentence = "each key's records are in one partition, in the order in which they were written"
        self.proofs.append((sentence, in_order(partitions)))

    def spark(self, bootstrap: str, home: Path) -> None:
        """Aggregate the topic with a streaming query while more orders arrive."""
        self.console.heading('A Spark streaming query, format("kafka")')
        from spark_session import spark_session

        os.environ.setdefault("JAVA_TOOL_OPTIONS", QUICK_JVM)
        with ExitStack() as stack:
            with self.console.waiting("Spark is starting"), standard_error_to(home / "spark.log"):
                session = stack.enter_context(spark_session("kcompat demo"))
            query = LiveQuery(session, bootstrap, home / "checkpoint")
            with self.console.waiting("the first micro-batch is on its way"):
                query.wait(SPARK_LIMIT_S)
            self.watch(query, bootstrap)

    def watch(self, query: LiveQuery, bootstrap: str) -> None:
        """Produce more while the query runs, and compare Spark's totals with the known ones."""
        before = self.by_kafka_python + self.by_confluent
        everything = before + self.live
        producing = (bootstrap, orders(before, self.live), lambda _: None, self.live / LIVE_SECONDS)
        producer = threading.Thread(target=clients.produce_with_confluent, args=producing, daemon=True)
        producer.start()
        deadline = time.monotonic() + SPARK_LIMIT_S
        while query.is_active() and time.monotonic() < deadline:
            self.console.table(
                query.totals, f"{query.counted():,} orders counted, micro-batch {query.batches}"
            )
            if query.counted() >= everything:
                break
            query.wait(1)
        self.console.keep()
        query.stop()
        known = totals(chain(*self.written(), orders(before, self.live)))
        sentence = f"Spark counted {everything:,} orders, {self.live:,} of them live, and every sum is right"
        self.proofs.append((sentence, query.totals == known))


class LiveQuery:
    """A streaming query that counts orders and cents by city, and its newest answer."""

    def __init__(self, session: Any, bootstrap: str, checkpoint: Path) -> None:
        from pyspark.sql import functions
        from spark_session import read_stream

        self.totals: Totals = {}
        self.batches = 0
        self._news = threading.Event()
        stream = read_stream(session, bootstrap, subscribe=TOPIC, startingOffsets="earliest")
        order = functions.from_json(stream.value.cast("string"), "city STRING, cents LONG")
        sums = (functions.count("*").alias("orders"), functions.sum("order.cents").alias("cents"))
        counted = stream.select(order.alias("order")).groupBy("order.city").agg(*sums)
        writer = counted.writeStream.outputMode("complete").option("checkpointLocation", str(checkpoint))
        self._query = writer.foreachBatch(self._keep).start()

    def _keep(self, batch: Any, _: int) -> None:
        self.totals = {row.city: (row.orders, row.cents) for row in batch.collect()}
        self.batches += 1
        self._news.set()

    def wait(self, seconds: float) -> None:
        """Return after the next micro-batch, or after this time."""
        self._news.wait(seconds)
        self._news.clear()

    def counted(self) -> int:
        """How many orders the totals are made of."""
        return sum(count for count, _ in self.totals.values())

    def is_active(self) -> bool:
        """Whether the query runs."""
        return bool(self._query.isActive)

    def stop(self) -> None:
        """End the query."""
        self._query.stop()


@contextmanager
def standard_error_to(path: Path) -> Iterator[None]:
    """Give processes that start meanwhile, such as Spark's JVM, a file for their standard error."""
    ours = os.dup(2)
    with path.open("wb") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)


def in_order(partitions: list[list[Order]]) -> bool:
    """Whether each city has one partition, and its orders are there in the order of their numbers."""
    home: dict[str, int] = {}
    last: dict[str, int] = {}
    for number, partition in enumerate(partitions):
        for order in partition:
            if home.setdefault(order.city, number) != number or order.number < last.get(order.city, -1):
                return False
            last[order.city] = order.number
    return True


def main() -> int:
    """Run the demo; 0 when everything it claims was seen."""
    parser = argparse.ArgumentParser(description="See kcompat work with ordinary clients and with Spark.")
    parser.add_argument("--scale", type=float, default=1.0, help="how many records, as a factor (default: 1)")
    demo = Demo(Console(), parser.parse_args().scale)
    try:
        return 0 if demo.run() else 1
    except KeyboardInterrupt:
        demo.console.line("stopped")
        return 130


if __name__ == "__main__":
    sys.exit(main())
