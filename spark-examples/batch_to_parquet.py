"""Read the records between two offsets and write them to Parquet.

    python spark-examples/batch_to_parquet.py --bootstrap HOST:PORT --topic T --output DIR --start 10 --end 20

``--start`` and ``--end`` count for every partition; -2 is the earliest offset, -1 the latest.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from spark_session import arguments, read_batch, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def partitions(spark: SparkSession, bootstrap: str, topic: str) -> list[int]:
    """The partitions of the topic that hold records."""
    rows = read_batch(spark, bootstrap, subscribe=topic).select("partition").distinct().collect()
    return sorted(row.partition for row in rows)


def export(spark: SparkSession, bootstrap: str, topic: str, start: int, end: int, output: str) -> int:
    """Write the records from ``start`` up to but without ``end`` and return how many there are."""
    numbers = partitions(spark, bootstrap, topic)
    records = read_batch(
        spark,
        bootstrap,
        assign=json.dumps({topic: numbers}),
        startingOffsets=json.dumps({topic: {str(number): start for number in numbers}}),
        endingOffsets=json.dumps({topic: {str(number): end for number in numbers}}),
    )
    text = records.selectExpr(
        "CAST(key AS STRING)", "CAST(value AS STRING)", "partition", "offset", "timestamp"
    )
    text.write.mode("overwrite").parquet(output)
    return spark.read.parquet(output).count()


def main(argv: list[str] | None = None) -> int:
    """Run the example; return the number of records written."""
    parser = arguments("Read the records between two offsets and write them to Parquet.")
    parser.add_argument("--topic", required=True)
    parser.add_argument("--output", required=True, metavar="DIR")
    parser.add_argument("--start", type=int, default=-2)
    parser.add_argument("--end", type=int, default=-1)
    chosen = parser.parse_args(argv)
    with spark_session("batch to Parquet") as spark:
        count = export(spark, chosen.bootstrap, chosen.topic, chosen.start, chosen.end, chosen.output)
    print(f"wrote {count} records to {chosen.output}")
    return count


if __name__ == "__main__":
    main()
