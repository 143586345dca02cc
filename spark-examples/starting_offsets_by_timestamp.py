"""Read what was produced from a point in time on.

    python spark-examples/starting_offsets_by_timestamp.py --bootstrap HOST:PORT --topic T --since MS

``--since`` is in milliseconds since the epoch, such as 1700000000000. A partition without a record from
then on is read from its end.
"""

from __future__ import annotations

from spark_session import arguments, read_batch, spark_session


def main(argv: list[str] | None = None) -> list[str]:
    """Run the example; return the values."""
    parser = arguments("Read what was produced from a point in time on.")
    parser.add_argument("--topic", required=True)
    parser.add_argument("--since", type=int, required=True, metavar="MS")
    chosen = parser.parse_args(argv)
    with spark_session("starting offsets by timestamp") as spark:
        records = read_batch(
            spark,
            chosen.bootstrap,
            subscribe=chosen.topic,
            startingTimestamp=str(chosen.since),
            startingOffsetsByTimestampStrategy="latest",
        )
        rows = records.selectExpr("CAST(value AS STRING)", "partition", "offset").collect()
    values = [row.value for row in sorted(rows, key=lambda row: (row.partition, row.offset))]
    print(f"{len(values)} records since {chosen.since}")
    return values


if __name__ == "__main__":
    main()
