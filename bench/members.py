"""Members of one group in a process of their own, for `group_settling.py`: librdkafka's consumers.

    python bench/members.py BOOTSTRAP TOPIC GROUP PROTOCOL COUNT

They are made when a line comes on standard input. Whenever one has other partitions than before, a line says
when that was (monotonic, in seconds), which member it is, and what it has.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from confluent_kafka import Consumer

if TYPE_CHECKING:
    from collections.abc import Mapping

SESSION_MS = 6_000
HEARTBEAT_MS = 2_500
SETTINGS: Mapping[str, Mapping[str, str | int]] = {
    "classic": {
        "session.timeout.ms": SESSION_MS,
        "heartbeat.interval.ms": HEARTBEAT_MS,
        "partition.assignment.strategy": "cooperative-sticky",
    },
    "consumer": {"group.protocol": "consumer"},
}
"""Settings of members by protocol: only a classic member chooses its session and assignor itself."""


def main() -> None:
    """Join the group, and print each change of the assignment."""
    bootstrap, topic, group, protocol, count = sys.argv[1:]
    sys.stdin.readline()
    members = [
        Consumer({"bootstrap.servers": bootstrap, "group.id": group, **SETTINGS[protocol]})
        for _ in range(int(count))
    ]
    for member in members:
        member.subscribe([topic])
    known: list[list[int]] = [[] for _ in members]
    while True:
        for number, member in enumerate(members):
            member.poll(0)
            has = sorted(place.partition for place in member.assignment())
            if has != known[number]:
                known[number] = has
                print(time.monotonic(), number, *has, flush=True)
        time.sleep(0.01)


if __name__ == "__main__":
    main()
