"""Write records with keys and headers from a DataFrame, and read them back with their headers.

python spark-examples/headers_and_keys.py --bootstrap HOST:PORT --topic T
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_session import arguments, read_batch, spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

SCHEMA = "key STRING, value STRING, headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
RECORDS = [
    ("with headers", "one", [("trace", b"abc"), ("trace", b"def"), ("empty", b"")]),
    ("without headers", "two", None),
    (None, "without a key", None),
    ("tombstone", None, None),
]


def write(spark: SparkSession, bootstrap: str, topic: str) -> None:
    """Write the records as one batch."""
    records: DataFrame = spark.createDataFrame(RECORDS, SCHEMA)
    sink = records.write.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    sink.option("topic", topic).option("includeHeaders", "true").save()


def read(spark: SparkSession, bootstrap: str, topic: str) -> list[Row]:
    """Read all records of the topic with their headers."""
    records = read_batch(spark, bootstrap, subscribe=topic, includeHeaders="true")
    text = records.selectExpr(
        "CAST(key AS STRING)", "CAST(value AS STRING)", "headers", "partition", "offset"
    )
    return text.orderBy("partition", "offset").collect()


def main(argv: list[str] | None = None) -> list[Row]:
    """Run the example; return what was read."""
    parser = arguments("Write records with keys and headers, and read them back.")
    parser.add_argument("--topic", required=True)
    chosen = parser.parse_args(argv)
    with spark_session("headers and keys") as spark:
        write(spark, chosen.bootstrap, chosen.topic)
        rows = read(spark, chosen.bootstrap, chosen.topic)
    for row in rows:
        headers = [(header.key, bytes(header.value)) for header in row.headers or []]
        print(f"{row.key!r} -> {row.value!r} {headers}")
    return rows


if __name__ == "__main__":
    main()
