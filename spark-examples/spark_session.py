"""What all examples share: a Spark session with Spark's own Kafka connector, and common options."""

from __future__ import annotations

import argparse
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession

if TYPE_CHECKING:
    from collections.abc import Iterator

CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
HERE = Path(__file__).resolve().parent
CACHED_JARS = HERE.parent / ".cache" / "spark"


def connector_setting() -> tuple[str, str]:
    """The Spark setting that brings the connector: jars fetched before, or its name for Spark to fetch."""
    jars = sorted(CACHED_JARS.glob("*.jar"))
    return ("spark.jars", ",".join(map(str, jars))) if jars else ("spark.jars.packages", CONNECTOR)


@contextmanager
def spark_session(name: str) -> Iterator[SparkSession]:
    """The running session if there is one, else a new local one that ends with the block."""
    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    builder = SparkSession.builder.master("local[2]").appName(name)
    settings = {
        connector_setting()[0]: connector_setting()[1],
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={HERE / 'log4j2.properties'}",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.showConsoleProgress": "false",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def arguments(description: str) -> argparse.ArgumentParser:
    """A parser with ``--bootstrap``; each program adds its own options."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--bootstrap", required=True, metavar="HOST:PORT", help="a broker to begin with")
    return parser


def read_batch(spark: SparkSession, bootstrap: str, **options: str) -> DataFrame:
    """A bounded read of Kafka: everything between two offsets as one table."""
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    return reader.options(**options).load()


def read_stream(spark: SparkSession, bootstrap: str, **options: str) -> DataFrame:
    """An unbounded read of Kafka: a table that grows."""
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    return reader.options(**options).load()
