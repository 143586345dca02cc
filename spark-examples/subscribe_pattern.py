"""Count the records of every topic whose name matches a regular expression.

python spark-examples/subscribe_pattern.py --bootstrap HOST:PORT --pattern 'orders-.*'
"""

from __future__ import annotations

from spark_session import arguments, read_batch, spark_session


def main(argv: list[str] | None = None) -> dict[str, int]:
    """Run the example; return the number of records of each topic."""
    parser = arguments("Count the records of every topic whose name matches a pattern.")
    parser.add_argument("--pattern", required=True, metavar="REGEX")
    chosen = parser.parse_args(argv)
    with spark_session("subscribe to a pattern") as spark:
        records = read_batch(spark, chosen.bootstrap, subscribePattern=chosen.pattern)
        counts = {row.topic: row["count"] for row in records.groupBy("topic").count().collect()}
    for topic, count in sorted(counts.items()):
        print(f"{topic}: {count}")
    return counts


if __name__ == "__main__":
    main()
