"""Runs in Spark's environment: starts and stops a topic-to-topic query as lines on standard input say.

`start BOOTSTRAP SOURCE TARGET CHECKPOINT` is answered `started`, once the query has had its first look at the
source; `stop` is answered `stopped`.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "spark-examples"))

from sink_to_topic import start
from spark_session import spark_session

SOURCE_TIMESTAMP = "CAST(unix_millis(timestamp) AS STRING)"


def main() -> None:
    with spark_session("bench") as spark:
        query = None
        print("ready", flush=True)
        for line in sys.stdin:
            command, *words = line.split()
            if command == "start":
                bootstrap, source, target, checkpoint = words
                query = start(
                    spark,
                    bootstrap,
                    source,
                    target,
                    checkpoint,
                    follow=True,
                    value=SOURCE_TIMESTAMP,
                    starting_offsets="earliest",
                )
                while query.lastProgress is None:
                    time.sleep(0.05)
                print("started", flush=True)
            elif command == "stop" and query is not None:
                query.stop()
                print("stopped", flush=True)


if __name__ == "__main__":
    main()
