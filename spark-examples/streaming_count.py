"""Count the records of each key as they arrive; a restart goes on from the checkpoint.

    python spark-examples/streaming_count.py --bootstrap HOST:PORT --topic T --checkpoint DIR

Ends when it has counted what is there; run it again after more was produced and the counts go on. With
``--follow`` it runs until Ctrl-C.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_session import arguments, read_stream, spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery


def start(
    spark: SparkSession, bootstrap: str, topic: str, checkpoint: str, counts: dict[str, int], *, follow: bool
) -> StreamingQuery:
    """Start the query; ``counts`` holds the newest counts after each batch."""

    def keep(batch: DataFrame, _: int) -> None:
        counts.update({row.key: row["count"] for row in batch.collect()})

    stream = read_stream(spark, bootstrap, subscribe=topic, startingOffsets="earliest")
    counted = stream.groupBy(stream.key.cast("string").alias("key")).count()
    writer = (
        counted.writeStream.outputMode("complete").option("checkpointLocation", checkpoint).foreachBatch(keep)
    )
    return writer.start() if follow else writer.trigger(availableNow=True).start()


def main(argv: list[str] | None = None) -> dict[str, int]:
    """Run the example; return the count of each key."""
    parser = arguments("Count the records of each key as they arrive.")
    parser.add_argument("--topic", required=True)
    parser.add_argument("--checkpoint", required=True, metavar="DIR")
    parser.add_argument("--follow", action="store_true", help="run until Ctrl-C")
    chosen = parser.parse_args(argv)
    counts: dict[str, int] = {}
    with spark_session("streaming count") as spark:
        query = start(spark, chosen.bootstrap, chosen.topic, chosen.checkpoint, counts, follow=chosen.follow)
        try:
            query.awaitTermination()
        except KeyboardInterrupt:
            query.stop()
    for key, count in sorted(counts.items()):
        print(f"{key}: {count}")
    return counts


if __name__ == "__main__":
    main()
