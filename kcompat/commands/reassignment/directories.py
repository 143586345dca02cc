"""Replicas that change their log directory: their directories, and the requests that move them."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final

import msgspec

from kcompat.admin.errors import JavaError, error_of_code
from kcompat.admin.waiting import pause
from kcompat.commands.json_files import command_failed
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest
from kcompat.protocol.messages.describe_log_dirs import DescribeLogDirsRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcompat.admin.client import AdminClient

_PAUSE_S: Final = 0.1


class Replica(msgspec.Struct, frozen=True, order=True):
    """A replica of a partition on a broker."""

    broker: int
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}-{self.broker}"


class Directories(msgspec.Struct):
    """The log directories of a replica: the current one, and the one that it moves to; None for none."""

    current: str | None = None
    future: str | None = None


def find_directories(admin: AdminClient, replicas: Iterable[Replica]) -> dict[Replica, Directories]:
    """Return the current and the future directory of each replica. Raises JavaError if a broker does not
    answer.
    """
    by_broker: dict[int, list[Replica]] = {}
    for each in sorted(replicas):
        by_broker.setdefault(each.broker, []).append(each)
    requests = {
        broker: DescribeLogDirsRequest(
            [
                DescribeLogDirsRequest.DescribableLogDirTopic(
                    topic, sorted(each.partition for each in wanted if each.topic == topic)
                )
                for topic in dict.fromkeys(each.topic for each in wanted)
            ]
        )
        for broker, wanted in by_broker.items()
    }
    found = {each: Directories() for wanted in by_broker.values() for each in wanted}
    for broker, response in admin.ask_each(requests, name="describeReplicaLogDirs").items():
        if isinstance(response, JavaError):
            raise response
        for row in response.results:
            for topic in row.topics:
                for each in topic.partitions:
                    place = found.get(Replica(broker, topic.name, each.partition_index))
                    if place is None:
                        continue
                    if each.is_future_key:
                        place.future = row.log_dir
                    else:
                        place.current = row.log_dir
    return found


def describe_moves(targets: Mapping[Replica, str], found: Mapping[Replica, Directories]) -> list[str]:
    """Return a sentence about each replica: the progress of its move to a directory."""
    return [_describe(replica, targets[replica], found[replica]) for replica in sorted(targets)]


def _describe(replica: Replica, target: str, place: Directories) -> str:
    name = f"{replica.topic}-{replica.partition}"
    if place.current is None:
        return (
            f"Partition {name} is not found in any live log dir on broker {replica.broker}. "
            "There is likely an offline log directory on the broker."
        )
    if place.future is not None:
        if place.future == target:
            return f"Reassignment of replica {replica} is still in progress."
        return (
            f"Partition {name} on broker {replica.broker} is being moved to log dir {place.future} "
            f"instead of {target}."
        )
    if place.current == target:
        return f"Reassignment of replica {replica} completed successfully."
    return (
        f"Partition {name} on broker {replica.broker} is not being moved from log dir {place.current} "
        f"to {target}."
    )


def move_replicas(admin: AdminClient, targets: Mapping[Replica, str], timeout_ms: int) -> None:
    """Start moves of replicas to directories. Wait at most `timeout_ms` for replicas that do not exist yet.

    Raises:
        JavaError: a broker refuses a move, or the time is over.
    """
    until_s = time.monotonic() + timeout_ms / 1000
    left = dict(targets)
    while True:
        started = _start(admin, left)
        for replica in sorted(started):
            sys.stdout.write(
                f"Successfully started moving log directory to {left.pop(replica)} for replica "
                f"{replica.topic}-{replica.partition} with broker {replica.broker} \n"
            )
        if not left:
            return
        if time.monotonic() >= until_s:
            plural = "" if len(left) == 1 else "s"
            raise JavaError(
                "TerseException",
                f"Timed out before log directory move{plural} could be started for: "
                + ",".join(map(str, sorted(left))),
            )
        pause(_PAUSE_S)


def _start(admin: AdminClient, targets: Mapping[Replica, str]) -> list[Replica]:
    """Request moves from the brokers, and return those that have begun."""
    requests = {}
    for broker in {replica.broker for replica in targets}:
        directories: dict[str, dict[str, list[int]]] = {}
        for replica, path in targets.items():
            if replica.broker == broker:
                directories.setdefault(path, {}).setdefault(replica.topic, []).append(replica.partition)
        requests[broker] = AlterReplicaLogDirsRequest(
            [
                AlterReplicaLogDirsRequest.AlterReplicaLogDir(
                    path,
                    [AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic(*item) for item in topics.items()],
                )
                for path, topics in directories.items()
            ]
        )
    started = []
    for broker, response in admin.ask_each(requests, name="alterReplicaLogDirs").items():
        if isinstance(response, JavaError):
            raise response
        for topic in response.results:
            for row in topic.partitions:
                replica = Replica(broker, topic.topic_name, row.partition_index)
                if not row.error_code:
                    started.append(replica)
                elif row.error_code != ErrorCode.REPLICA_NOT_AVAILABLE:
                    error = error_of_code(row.error_code)
                    raise command_failed(f"Failed to alter dir for {replica}") from error
    return started
