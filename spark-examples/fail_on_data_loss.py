"""Go on from a checkpoint although records the query had not read yet are gone, or refuse to.

    python spark-examples/fail_on_data_loss.py --bootstrap HOST:PORT --topic T --checkpoint DIR [--tolerate]

Run it once, produce, delete the records (retention, or kafka-delete-records), produce again, run it again:
without ``--tolerate`` the query fails and says which offsets are missing, with it the query goes on with
what is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_session import arguments, read_stream, spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def main(argv: list[str] | None = None) -> list[str]:
    """Run the example; return the values that this run has read."""
    parser = arguments("Go on from a checkpoint although records are gone, or refuse to.")
    parser.add_argument("--topic", required=True)
    parser.add_argument("--checkpoint", required=True, metavar="DIR")
    parser.add_argument("--tolerate", action="store_true", help="go on (failOnDataLoss=false)")
    chosen = parser.parse_args(argv)
    values: list[str] = []

    def keep(batch: DataFrame, _: int) -> None:
        values.extend(row.value for row in batch.selectExpr("CAST(value AS STRING)").collect())

    with spark_session("fail on data loss") as spark:
        stream = read_stream(
            spark,
            chosen.bootstrap,
            subscribe=chosen.topic,
            startingOffsets="earliest",
            failOnDataLoss=str(not chosen.tolerate).lower(),
        )
        writer = stream.writeStream.option("checkpointLocation", chosen.checkpoint).foreachBatch(keep)
        writer.trigger(availableNow=True).start().awaitTermination()
    print(f"read {len(values)} records")
    return values


if __name__ == "__main__":
    main()
