"""Read one topic, change every value, and write the result to another topic.

    python spark-examples/sink_to_topic.py --bootstrap HOST:PORT --from T --to U --checkpoint DIR

`start` is also what the bench measures: the time a record needs from topic to topic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_session import arguments, read_stream, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery


def start(
    spark: SparkSession,
    bootstrap: str,
    source: str,
    target: str,
    checkpoint: str,
    *,
    follow: bool,
    value: str = "upper(CAST(value AS STRING))",
    starting_offsets: str = "earliest",
) -> StreamingQuery:
    """Start the query from topic to topic; ``value`` is the SQL expression of the new value.

    With ``follow`` micro-batches follow one another without a pause until the query is stopped; without it
    the query ends when it has written what is there.
    """
    stream = read_stream(spark, bootstrap, subscribe=source, startingOffsets=starting_offsets)
    changed = stream.selectExpr("key", f"{value} AS value")
    writer = changed.writeStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    writer = writer.option("topic", target).option("checkpointLocation", checkpoint)
    return writer.start() if follow else writer.trigger(availableNow=True).start()


def main(argv: list[str] | None = None) -> None:
    """Run the example."""
    parser = arguments("Read one topic, change every value, and write the result to another topic.")
    parser.add_argument("--from", dest="source", required=True, metavar="TOPIC")
    parser.add_argument("--to", dest="target", required=True, metavar="TOPIC")
    parser.add_argument("--checkpoint", required=True, metavar="DIR")
    parser.add_argument("--follow", action="store_true", help="run until Ctrl-C")
    chosen = parser.parse_args(argv)
    with spark_session("sink to a topic") as spark:
        query = start(
            spark, chosen.bootstrap, chosen.source, chosen.target, chosen.checkpoint, follow=chosen.follow
        )
        try:
            query.awaitTermination()
        except KeyboardInterrupt:
            query.stop()
    print(f"copied {chosen.source} to {chosen.target} in capitals")


if __name__ == "__main__":
    main()
