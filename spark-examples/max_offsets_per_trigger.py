"""Read a backlog in micro-batches of a limited size.

python spark-examples/max_offsets_per_trigger.py --bootstrap HOST:PORT --topic T --limit 100 --checkpoint DIR
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_session import arguments, read_stream, spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def main(argv: list[str] | None = None) -> list[int]:
    """Run the example; return the size of each micro-batch."""
    parser = arguments("Read a backlog in micro-batches of a limited size.")
    parser.add_argument("--topic", required=True)
    parser.add_argument("--limit", type=int, required=True, metavar="RECORDS")
    parser.add_argument("--checkpoint", required=True, metavar="DIR")
    chosen = parser.parse_args(argv)
    sizes: list[int] = []

    def count(batch: DataFrame, _: int) -> None:
        sizes.append(batch.count())

    with spark_session("max offsets per trigger") as spark:
        stream = read_stream(
            spark,
            chosen.bootstrap,
            subscribe=chosen.topic,
            startingOffsets="earliest",
            maxOffsetsPerTrigger=str(chosen.limit),
        )
        writer = stream.writeStream.option("checkpointLocation", chosen.checkpoint).foreachBatch(count)
        writer.trigger(availableNow=True).start().awaitTermination()
    print(f"micro-batches of {sizes} records")
    return sizes


if __name__ == "__main__":
    main()
