"""`kcompat take-over`: copy the metadata of a stopped Kafka from its ZooKeeper, before its logs are used."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from kcompat.cli.zookeeper import TIMEOUT_S, WINDOW, attempt, data_directories, locked, parse_connect, session
from kcompat.cluster import znodes
from kcompat.migration.hand_over import HandOverRefusedError, check_logs, check_owner
from kcompat.migration.take_over import ReadNode, registration_from, to_read_below
from kcompat.store.interface import Create, StoreError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from kazoo.client import KazooClient

    from kcompat.migration.hand_over import RequiredNodes


def run(options: argparse.Namespace) -> int:
    """Fill a new metadata store; return exit code 1, after a sentence on standard error, if that is refused
    or fails.
    """
    return attempt(lambda: _take_over(options))


def _take_over(options: argparse.Namespace) -> None:
    directories = data_directories(options)
    with locked(directories):
        registration = _read(options.zookeeper)
        owner = check_owner(registration, directories)
        warnings = check_logs(registration, directories, owner.broker_id, "kcompat")
        asyncio.run(_store(registration, directories[0]))
    for warning in warnings:
        print(f"kcompat: {warning}", file=sys.stderr)
    print(
        f"Taken over from {options.zookeeper}: cluster {owner.cluster_id}, {len(registration.topics)} topics "
        f"with {len(registration.partitions)} partitions. kcompat can be started on "
        f"{', '.join(directories)} now."
    )


def _read(connect: str) -> RequiredNodes:
    """Read the metadata of the cluster from ZooKeeper. Raises StoreError with a sentence."""
    hosts, root = parse_connect(connect)
    with session(hosts) as client:
        from kazoo.exceptions import KazooException, NoNodeError
        from kazoo.handlers.threading import KazooTimeoutError

        nodes: dict[str, ReadNode] = {}
        level = [""]
        try:
            while level:
                found = dict(_nodes(client, root, level))
                nodes |= found
                level = [path for parent, node in found.items() for path in to_read_below(parent, node)]
            return registration_from(nodes)
        except NoNodeError as error:
            raise HandOverRefusedError(
                f"ZooKeeper at {connect} has no such node, or it is being changed"
            ) from error
        except HandOverRefusedError as refused:
            raise HandOverRefusedError(
                f"ZooKeeper at {connect} is not taken from, because {refused}"
            ) from refused
        except (KazooException, KazooTimeoutError) as error:
            raise StoreError(f"ZooKeeper at {connect} failed ({type(error).__name__} {error})") from error


def _nodes(client: KazooClient, root: str, paths: list[str]) -> Iterator[tuple[str, ReadNode]]:
    """Read nodes, many at a time."""
    for start in range(0, len(paths), WINDOW):
        window = paths[start : start + WINDOW]
        requests = [
            (client.get_async(root + path or "/"), client.get_children_async(root + path or "/"))
            for path in window
        ]
        for path, (data, children) in zip(window, requests, strict=True):
            yield path, ReadNode(data.get(timeout=TIMEOUT_S)[0] or b"", children.get(timeout=TIMEOUT_S))


async def _store(registration: RequiredNodes, directory: str) -> None:
    """Put the metadata into the metadata store in one transaction; the store must be new."""
    from kcompat.store.process_store import ProcessStore
    from kcompat.store.sqlite_journal import METADATA_FILE, SqliteJournal

    path = Path(directory) / METADATA_FILE
    store = ProcessStore(SqliteJournal(path), lambda: int(time.time() * 1000))
    try:
        if znodes.CLUSTER_ID in store.tree.nodes:
            raise HandOverRefusedError(f"{path} has the metadata of a cluster already: move it away first")
        opened = await store.session()
        await opened.multi([Create(path, data) for path, data in registration.nodes.items()])
        await opened.close()
    finally:
        await store.close()
