"""`kcompat hand-over`: register a stopped broker's topics in ZooKeeper, for a Kafka that takes its logs."""

from __future__ import annotations

import sys
from collections import deque
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kcompat.cli.zookeeper import TIMEOUT_S, WINDOW, attempt, data_directories, locked, parse_connect, session
from kcompat.migration.hand_over import (
    HandOverRefusedError,
    check_logs,
    check_owner,
    missing_nodes,
    required_nodes,
)
from kcompat.store.interface import StoreError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from kazoo.client import KazooClient

    from kcompat.migration.hand_over import DirectoryOwner, Found, RequiredNodes

RESERVED_BROKER_ID = 1000
"""Kafka's default of `reserved.broker.max.id`: a Kafka broker refuses a larger id unless that setting is
raised."""


def run(options: argparse.Namespace) -> int:
    """Hand the directories over; return exit code 1, after a sentence on standard error, if that is refused
    or fails.
    """
    return attempt(lambda: _hand_over(options))


def _hand_over(options: argparse.Namespace) -> None:
    directories = data_directories(options)
    with _opened(directories) as registration:
        owner = check_owner(registration, directories)
        for warning in check_logs(registration, directories, owner.broker_id):
            print(f"kcompat: {warning}", file=sys.stderr)
        made = _register(registration, options.zookeeper)
    _report(registration, owner, made, options.zookeeper, directories)


@contextmanager
def _opened(directories: Sequence[str]) -> Iterator[RequiredNodes]:
    """Yield the metadata of the store; the directories and the store are locked in the `with` block."""
    from kcompat.store.sqlite_journal import METADATA_FILE, SqliteJournal

    with locked(directories):
        path = Path(directories[0]) / METADATA_FILE
        if not path.exists():
            raise HandOverRefusedError(f"{path} is missing: start and stop kcompat there, which makes it")
        journal = SqliteJournal(path)
        try:
            yield required_nodes(journal.load().nodes)
        finally:
            journal.close()


def _register(registration: RequiredNodes, connect: str) -> int:
    """Create the nodes that ZooKeeper lacks; return their number. Raises StoreError with a sentence."""
    hosts, root = parse_connect(connect)
    with session(hosts) as client:
        from kazoo.exceptions import KazooException
        from kazoo.handlers.threading import KazooTimeoutError

        try:
            missing = missing_nodes(registration, lambda path: _look(client, root + path))
            if root:
                client.ensure_path(root)
            _create(client, {root + path: registration.nodes[path] for path in missing})
        except HandOverRefusedError as refused:
            raise HandOverRefusedError(
                f"ZooKeeper at {connect} was left as it is, because {refused}. Kafka can have a place of its "
                f"own there: --zookeeper {hosts}/NAME"
            ) from refused
        except (KazooException, KazooTimeoutError) as error:
            raise StoreError(
                f"ZooKeeper at {connect} failed ({type(error).__name__} {error}); the same command goes on "
                "where this one ended"
            ) from error
    return len(missing)


def _look(client: KazooClient, path: str) -> Found | None:
    from kazoo.exceptions import NoNodeError

    requests = client.get_async(path), client.get_children_async(path)
    try:
        data, _ = requests[0].get(timeout=TIMEOUT_S)
        return data or b"", requests[1].get(timeout=TIMEOUT_S)
    except NoNodeError:
        return None


def _create(client: KazooClient, nodes: Mapping[str, bytes]) -> None:
    """Create the nodes in order, many at a time: ZooKeeper keeps the order of a session's requests."""
    waiting: deque[Any] = deque()
    for path, data in nodes.items():
        waiting.append(client.create_async(path, data))
        if len(waiting) == WINDOW:
            waiting.popleft().get(timeout=TIMEOUT_S)
    for created in waiting:
        created.get(timeout=TIMEOUT_S)


def _report(
    registration: RequiredNodes, owner: DirectoryOwner, made: int, connect: str, directories: Sequence[str]
) -> None:
    """Print what ZooKeeper holds now, and the properties that the new owner needs."""
    before = len(registration.nodes) - made
    again = f" ({before} of {len(registration.nodes)} nodes were there)" if before else ""
    print(
        f"Registered at {connect}: cluster {owner.cluster_id}, {len(registration.topics)} topics with "
        f"{len(registration.partitions)} partitions{again}."
    )
    print("Start Kafka with these lines in its server.properties:\n")
    for line in properties_for(owner.broker_id, directories, connect):
        print(line)


def properties_for(broker_id: int, directories: Sequence[str], connect: str) -> list[str]:
    """Return the lines of a `server.properties` with which a Kafka owns the directories."""
    reserved = [f"reserved.broker.max.id={broker_id}"] if broker_id > RESERVED_BROKER_ID else []
    return [
        f"broker.id={broker_id}",
        *reserved,
        f"log.dirs={','.join(directories)}",
        f"zookeeper.connect={connect}",
    ]
