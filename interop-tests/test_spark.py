"""The programs of spark-examples/ in one Spark session, and what a crash must not do to them."""

from __future__ import annotations

import importlib
import itertools
import shutil
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from drivers.base import Record
from drivers.confluent import Confluent
from kcompat import Cluster
from support.eventually import eventually, limit_s
from support.kafka_jars import QUICK
from support.places import REPOSITORY
from support.ports import free_port

pytest.importorskip("pyspark", reason="pyspark is not there: pip install pyspark==4.2.0")
if shutil.which("java") is None:
    pytest.skip("no java on the PATH: install a Java 17 runtime", allow_module_level=True)

from pyspark.errors import StreamingQueryException

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.broker_process import BrokerProcess

EXAMPLES = REPOSITORY / "spark-examples"
sys.path.insert(0, str(EXAMPLES))

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module", autouse=True)
def quick_jvm() -> Iterator[None]:
    """Queries of a few records gain nothing from the optimising compiler, and lose its time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", " ".join(QUICK))
        yield


@pytest.fixture(scope="module")
def spark(quick_jvm: None) -> Iterator[Any]:
    from spark_session import spark_session

    with spark_session("interop tests") as session:
        yield session


@pytest.fixture(scope="module")
def client(session_broker: BrokerProcess) -> Iterator[Confluent]:
    driver = Confluent(session_broker.bootstrap)
    yield driver
    driver.close()


@pytest.fixture
def run(spark: Any, broker: BrokerProcess) -> Callable[..., Any]:
    """Runs an example's main with the broker's address; it finds the session of this module running."""

    def run_example(example: str, *arguments: str) -> Any:
        return importlib.import_module(example).main(["--bootstrap", broker.bootstrap, *map(str, arguments)])

    return run_example


def texts(*values: object, partition: int = 0) -> list[Record]:
    return [Record(str(value).encode(), partition=partition) for value in values]


@pytest.mark.thorough("test_demo.py runs a Spark from the command line")
def test_an_example_runs_from_the_command_line(broker, client, name):
    client.create_topic(name, 3, {})
    client.produce(name, [Record(b"x", partition=n % 3) for n in range(10)])
    program = [sys.executable, EXAMPLES / "assign_partitions.py", "--bootstrap", broker.bootstrap]
    options = ["--topic", name, "--partitions", "0,2"]
    done = subprocess.run(
        [*program, *options], capture_output=True, text=True, timeout=limit_s(150), check=False
    )
    assert done.stdout == "partition 0: 4\npartition 2: 3\n", done.stderr


def test_batch_to_parquet_reads_between_offsets(run, spark, client, name, tmp_path):
    client.create_topic(name, 2, {})
    client.produce(name, texts(*range(20)) + texts(*range(20), partition=1))
    output = str(tmp_path / "out")
    assert run("batch_to_parquet", "--topic", name, "--output", output, "--start", "5", "--end", "12") == 14
    rows = spark.read.parquet(output).collect()
    assert sorted((row.partition, row.offset, row.value) for row in rows) == [
        (partition, offset, str(offset)) for partition in range(2) for offset in range(5, 12)
    ]


def test_streaming_count_goes_on_from_its_checkpoint(run, client, name, tmp_path):
    client.create_topic(name, 2, {})
    arguments = ("streaming_count", "--topic", name, "--checkpoint", tmp_path / "checkpoint")
    client.produce(name, [Record(b"x", b"even" if n % 2 == 0 else b"odd", (), n % 2) for n in range(11)])
    assert run(*arguments) == {"even": 6, "odd": 5}
    client.produce(name, [Record(b"x", b"odd", (), 1) for _ in range(3)])
    assert run(*arguments) == {"even": 6, "odd": 8}


def test_sink_writes_each_record_once_across_restarts(run, client, name, tmp_path):
    target = f"{name}-out"
    for topic in (name, target):
        client.create_topic(topic, 1, {})
    arguments = ("sink_to_topic", "--from", name, "--to", target, "--checkpoint", tmp_path / "checkpoint")
    client.produce(name, texts("a", "b", "c"))
    run(*arguments)
    client.produce(name, texts("d", "e"))
    run(*arguments)
    got = client.consume(target, [0], 5)
    assert [record.value for record in got] == [b"A", b"B", b"C", b"D", b"E"]


def test_headers_and_keys(run, client, name):
    client.create_topic(name, 1, {})
    rows = run("headers_and_keys", "--topic", name)
    shown = {(row.key, row.value): [(h.key, bytes(h.value)) for h in row.headers or []] for row in rows}
    assert shown == {
        ("with headers", "one"): [("trace", b"abc"), ("trace", b"def"), ("empty", b"")],
        ("without headers", "two"): [],
        (None, "without a key"): [],
        ("tombstone", None): [],
    }


def test_subscribe_pattern(run, client, name):
    for topic, count in ((f"{name}-a", 3), (f"{name}-b", 5), (f"other-{name}", 7)):
        client.create_topic(topic, 1, {})
        client.produce(topic, texts(*range(count)))
    assert run("subscribe_pattern", "--pattern", f"{name}-.*") == {f"{name}-a": 3, f"{name}-b": 5}


def test_assign_partitions(run, client, name):
    client.create_topic(name, 3, {})
    for partition in range(3):
        client.produce(name, texts(*range(partition + 1), partition=partition))
    assert run("assign_partitions", "--topic", name, "--partitions", "0,2") == {0: 1, 2: 3}


def test_starting_offsets_by_timestamp(run, client, name):
    client.create_topic(name, 2, {})
    client.produce(name, texts("old", "old") + texts("old", partition=1))
    time.sleep(0.05)
    since = int(time.time() * 1000)
    client.produce(name, texts("new 1", "new 2"))
    assert run("starting_offsets_by_timestamp", "--topic", name, "--since", since) == ["new 1", "new 2"]


def test_max_offsets_per_trigger(run, client, name, tmp_path):
    client.create_topic(name, 1, {})
    client.produce(name, texts(*range(25)))
    checkpoint = tmp_path / "checkpoint"
    sizes = run("max_offsets_per_trigger", "--topic", name, "--limit", "10", "--checkpoint", checkpoint)
    assert sizes == [10, 10, 5]


def test_fail_on_data_loss(run, client, name, tmp_path):
    client.create_topic(name, 1, {})
    client.produce(name, texts(0, 1, 2))
    arguments = ("fail_on_data_loss", "--topic", name, "--checkpoint", tmp_path / "checkpoint")
    assert run(*arguments) == ["0", "1", "2"]
    client.produce(name, texts(3, 4, 5, 6))
    client.delete_records(name, 0, before=5)
    with pytest.raises(StreamingQueryException):
        run(*arguments)
    assert run(*arguments, "--tolerate") == ["5", "6"]


def test_the_deprecated_offset_fetching_uses_a_consumer_group(spark, run, client, name):
    client.create_topic(name, 2, {})
    client.produce(name, texts(*range(5)) + texts(*range(7), partition=1))
    setting = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
    spark.conf.set(setting, "true")
    try:
        assert run("subscribe_pattern", "--pattern", name) == {name: 12}
    finally:
        spark.conf.unset(setting)


def test_a_query_reads_what_is_committed_while_transactions_abort(spark, broker, client, name, tmp_path):
    from spark_session import read_batch, read_stream

    client.create_topic(name, 2, {})
    client.produce(name, texts(*range(5)))
    options = {"subscribe": name, "startingOffsets": "earliest", "kafka.isolation.level": "read_committed"}
    seen: list[int] = []
    stream = read_stream(spark, broker.bootstrap, **options).selectExpr(
        "CAST(CAST(value AS STRING) AS INT) AS n"
    )
    writer = stream.writeStream.foreachBatch(lambda rows, _: seen.extend(row.n for row in rows.collect()))
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    wanted = list(range(5))
    producers = [Transactions(broker.bootstrap, name, f"{name}-{each}") for each in range(3)]
    try:
        for number in range(15):
            producers[0].write(10 * number, commits=True)
            producers[1].write(10_000 + 10 * number, commits=False)
            wanted += range(10 * number, 10 * number + 10)
        query.processAllAvailable()
        assert sorted(seen) == sorted(wanted)
        producers[2].begin(20_000)
        producers[0].write(30_000, commits=True)
        query.processAllAvailable()
        assert sorted(seen) == sorted(wanted), "an open transaction holds back what comes after it"
        producers[2].end(commits=True)
        query.processAllAvailable()
    finally:
        query.stop()
    wanted += [*range(20_000, 20_010), *range(30_000, 30_010)]
    assert sorted(seen) == sorted(wanted)
    assert read_batch(spark, broker.bootstrap, **options).count() == len(wanted)


class Transactions:
    """A producer that writes ten numbers in each of its transactions, to both partitions."""

    def __init__(self, bootstrap: str, topic: str, name: str) -> None:
        self._topic = topic
        self._producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
        self._producer.init_transactions(60)

    def begin(self, first: int) -> None:
        """Write, and leave the transaction open."""
        self._producer.begin_transaction()
        for number in range(first, first + 10):
            self._producer.produce(self._topic, str(number), partition=number % 2)
        assert self._producer.flush(60) == 0

    def end(self, *, commits: bool) -> None:
        """End the transaction: commit or abort it."""
        (self._producer.commit_transaction if commits else self._producer.abort_transaction)(60)

    def write(self, first: int, *, commits: bool) -> None:
        """A whole transaction."""
        self.begin(first)
        self.end(commits=commits)


def test_a_query_goes_on_after_its_topic_was_made_anew(run, client, name, tmp_path):
    arguments = ("fail_on_data_loss", "--topic", name, "--checkpoint", tmp_path / "checkpoint", "--tolerate")
    client.create_topic(name, 1, {})
    client.produce(name, texts("a", "b", "c"))
    assert run(*arguments) == ["a", "b", "c"]
    client.delete_topic(name)
    eventually(lambda: name not in client.topics(), "the topic is gone")
    client.create_topic(name, 1, {})
    client.produce(name, texts("d", "e", "f", "g", "h"))
    assert run(*arguments) == ["g", "h"]


def test_partitions_added_under_a_query_are_read_from_their_beginning(spark, broker, client, name, tmp_path):
    import sink_to_topic

    target, checkpoint = f"{name}-out", str(tmp_path / "checkpoint")
    for topic in (name, target):
        client.create_topic(topic, 1, {})
    client.produce(name, texts("a", "b"))
    query = sink_to_topic.start(spark, broker.bootstrap, name, target, checkpoint, follow=True)
    try:
        query.processAllAvailable()
        client.add_partitions(name, 3)
        eventually(lambda: client.partitions(name) == 3, "the topic has three partitions")
        client.produce(name, texts("c", partition=1) + texts("d", partition=2) + texts("e"))
        got = client.consume(target, [0], 5)
    finally:
        query.stop()
    assert sorted(record.value or b"" for record in got) == [b"A", b"B", b"C", b"D", b"E"]


def test_continuous_processing_reads_a_backlog_and_what_follows(spark, broker, client, name, tmp_path):
    from spark_session import read_stream

    target = f"{name}-out"
    client.create_topic(name, 2, {})
    client.create_topic(target, 1, {})
    client.produce(name, texts(*range(20)) + texts(*range(20, 40), partition=1))
    stream = read_stream(spark, broker.bootstrap, subscribe=name, startingOffsets="earliest")
    writer = stream.select("value").writeStream.format("kafka").option("topic", target)
    writer = writer.option("kafka.bootstrap.servers", broker.bootstrap)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(continuous="500 milliseconds").start()
    try:
        assert len(client.consume(target, [0], 40)) == 40
        client.produce(name, texts(*range(40, 50)) + texts(*range(50, 60), partition=1))
        got = client.consume(target, [0], 60)
    finally:
        query.stop()
    assert sorted(int(record.value or -1) for record in got) == list(range(60))


class Numbers:
    """A producer thread that writes 0, 1, 2, … to two partitions until it is told to stop."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        import confluent_kafka

        settings = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 2}
        self._producer: Any = confluent_kafka.Producer({**settings, "reconnect.backoff.max.ms": 200})
        self._topic = topic
        self._stop = threading.Event()
        self.acknowledged = 0
        self.sent = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> int:
        """Stop, wait for every acknowledgement, and return how many numbers were written."""
        self._stop.set()
        self._thread.join(60)
        assert self._producer.flush(60) == 0
        assert self.acknowledged == self.sent
        return self.sent

    def _run(self) -> None:
        for number in itertools.count():
            if self._stop.wait(0.002):
                return
            self._producer.produce(
                self._topic, str(number), partition=number % 2, on_delivery=self._delivered
            )
            self.sent += 1
            self._producer.poll(0)

    def _delivered(self, error: Any, _: Any) -> None:
        assert error is None, error
        self.acknowledged += 1


def written(spark: Any, output: Path) -> int:
    """How many records the finished micro-batches have written."""
    return (
        spark.read.schema("value STRING").parquet(str(output)).count() if any(output.glob("*.parquet")) else 0
    )


def test_a_query_that_sees_a_leader_die_neither_loses_nor_repeats(spark, tmp_path):
    import stream_to_parquet

    output, checkpoint, topic = tmp_path / "out", str(tmp_path / "checkpoint"), "numbers"
    config = {"num.partitions": 2, "default.replication.factor": 3, "min.insync.replicas": 2}
    with Cluster(brokers=3, port=free_port(3), config=config) as cluster:
        servers = cluster.bootstrap_servers
        numbers = Numbers(servers, topic)
        eventually(lambda: numbers.acknowledged > 0, "the topic is there")
        query = stream_to_parquet.start(spark, servers, topic, str(output), checkpoint, follow=True)
        eventually(lambda: written(spark, output) > 100, "the query is under way")
        cluster.brokers[cluster.leader_of(topic, 0)].kill()
        before = written(spark, output)
        eventually(lambda: written(spark, output) > before + 100, "the query goes on", timeout_s=90)
        total = numbers.stop()
        query.processAllAvailable()
        assert query.isActive
        query.stop()
    values = [int(row.value) for row in spark.read.parquet(str(output)).collect()]
    assert sorted(values) == list(range(total))


def test_a_query_that_sees_the_broker_killed_neither_loses_nor_repeats(spark, new_broker, tmp_path):
    import stream_to_parquet

    output, checkpoint, topic = tmp_path / "out", str(tmp_path / "checkpoint"), "numbers"
    with new_broker() as broker:
        driver = Confluent(broker.bootstrap)
        driver.create_topic(topic, 2, {})
        driver.close()
        numbers = Numbers(broker.bootstrap, topic)
        query = stream_to_parquet.start(spark, broker.bootstrap, topic, str(output), checkpoint, follow=True)
        eventually(lambda: written(spark, output) > 100, "the query is under way")
        broker.kill()
        broker.start()
        before = written(spark, output)
        eventually(lambda: written(spark, output) > before + 100, "the query goes on", timeout_s=90)
        assert query.isActive
        query.stop()
        middle = numbers.acknowledged
        query = stream_to_parquet.start(spark, broker.bootstrap, topic, str(output), checkpoint, follow=True)
        eventually(lambda: numbers.acknowledged > middle + 100, "more has been produced")
        total = numbers.stop()
        query.processAllAvailable()
        query.stop()
    values = [int(row.value) for row in spark.read.parquet(str(output)).collect()]
    assert sorted(values) == list(range(total))
