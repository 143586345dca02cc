"""Read only some partitions of a topic.

python spark-examples/assign_partitions.py --bootstrap HOST:PORT --topic T --partitions 0,2
"""

from __future__ import annotations

import json

from spark_session import arguments, read_batch, spark_session


def main(argv: list[str] | None = None) -> dict[int, int]:
    """Run the example; return the number of records of each partition that was read."""
    parser = arguments("Read only some partitions of a topic.")
    parser.add_argument("--topic", required=True)
    parser.add_argument("--partitions", required=True, metavar="N,N")
    chosen = parser.parse_args(argv)
    assignment = json.dumps({chosen.topic: [int(number) for number in chosen.partitions.split(",")]})
    with spark_session("assign partitions") as spark:
        records = read_batch(spark, chosen.bootstrap, assign=assignment)
        counts = {row.partition: row["count"] for row in records.groupBy("partition").count().collect()}
    for partition, count in sorted(counts.items()):
        print(f"partition {partition}: {count}")
    return counts


if __name__ == "__main__":
    main()
