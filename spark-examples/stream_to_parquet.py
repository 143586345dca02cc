"""Write a topic to Parquet as it arrives, each record once, whatever happens to the query or the broker
meanwhile.

python spark-examples/stream_to_parquet.py --bootstrap HOST:PORT --topic T --output DIR --checkpoint DIR
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_session import arguments, read_stream, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery


def start(
    spark: SparkSession, bootstrap: str, topic: str, output: str, checkpoint: str, *, follow: bool
) -> StreamingQuery:
    """Start the query; without ``follow`` it ends when it has written what is there."""
    stream = read_stream(spark, bootstrap, subscribe=topic, startingOffsets="earliest")
    text = stream.selectExpr("CAST(key AS STRING)", "CAST(value AS STRING)", "partition", "offset")
    writer = (
        text.writeStream.format("parquet").option("path", output).option("checkpointLocation", checkpoint)
    )
    return writer.start() if follow else writer.trigger(availableNow=True).start()


def main(argv: list[str] | None = None) -> int:
    """Run the example; return the number of records in the Parquet files."""
    parser = arguments("Write a topic to Parquet as it arrives.")
    parser.add_argument("--topic", required=True)
    parser.add_argument("--output", required=True, metavar="DIR")
    parser.add_argument("--checkpoint", required=True, metavar="DIR")
    parser.add_argument("--follow", action="store_true", help="run until Ctrl-C")
    chosen = parser.parse_args(argv)
    with spark_session("stream to Parquet") as spark:
        query = start(
            spark, chosen.bootstrap, chosen.topic, chosen.output, chosen.checkpoint, follow=chosen.follow
        )
        try:
            query.awaitTermination()
        except KeyboardInterrupt:
            query.stop()
        count = spark.read.parquet(chosen.output).count()
    print(f"{chosen.output} holds {count} records")
    return count


if __name__ == "__main__":
    main()
