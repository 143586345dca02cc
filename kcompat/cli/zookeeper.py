"""The parts shared by the commands that talk to a ZooKeeper: a session, and locked data directories."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kcompat.cli.start import read_values
from kcompat.config.broker import BrokerConfig
from kcompat.config.errors import ConfigError
from kcompat.migration.hand_over import HandOverRefusedError
from kcompat.store.interface import StoreError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from kazoo.client import KazooClient

TIMEOUT_S = 10.0
"""Seconds that ZooKeeper may take to accept a connection, and to answer a request."""

WINDOW = 500
"""Maximum number of requests that are sent before the first answer is waited for."""


FAILED = 1


def attempt(work: Callable[[], None]) -> int:
    """Run `work`; return the exit code: 1, after a sentence on standard error, if it is refused or fails."""
    try:
        work()
    except (ConfigError, StoreError) as error:
        print(f"kcompat: {error}", file=sys.stderr)
        return FAILED
    except OSError as error:
        print(f"kcompat: {error.filename} cannot be used: {error.strerror}", file=sys.stderr)
        return FAILED
    return 0


def data_directories(options: argparse.Namespace) -> list[str]:
    """Return the data directories of the broker; its other properties, such as TLS, are not checked.

    Raises:
        ConfigError: the properties cannot be understood.
    """
    values = read_values(options, os.environ, options.data_dir)
    return BrokerConfig({key: values[key] for key in ("log.dir", "log.dirs") if key in values}).log_dirs


def parse_connect(connect: str) -> tuple[str, str]:
    """Return the servers in `zookeeper.connect`, and the path below which the cluster's nodes are; "" for the
    root.
    """
    hosts, slash, chroot = connect.partition("/")
    return hosts, (slash + chroot).rstrip("/")


@contextmanager
def session(hosts: str, timeout_s: float = TIMEOUT_S) -> Iterator[KazooClient]:
    """Yield a connected client. Raises StoreError with a sentence, after `timeout_s` if no server answers."""
    from kazoo.client import KazooClient
    from kazoo.handlers.threading import KazooTimeoutError

    logging.getLogger("kazoo").setLevel(logging.CRITICAL)  # it logs every attempt to connect
    try:
        client = KazooClient(hosts, timeout=timeout_s)
    except ValueError as error:
        raise StoreError(
            f"--zookeeper must be of the form HOST:PORT[,HOST:PORT...][/CHROOT], but {hosts!r}: {error}"
        ) from error
    try:
        try:
            client.start(timeout_s)
        except KazooTimeoutError as error:
            raise StoreError(f"no ZooKeeper answers at {hosts}") from error
        yield client
    finally:
        client.stop()
        client.close()


@contextmanager
def locked(directories: Sequence[str]) -> Iterator[None]:
    """Lock the directories against brokers. Raises HandOverRefusedError if a broker runs on one, OSError."""
    from kcompat.log.files import FILES
    from kcompat.log.names import LOCK

    locks = []
    for directory in directories:
        if not Path(directory).is_dir():
            raise HandOverRefusedError(f"there is no data directory {directory}")
        lock = FILES.lock(f"{directory}/{LOCK}")
        if lock is None:
            raise HandOverRefusedError(f"a broker is running on {directory}: stop it first")
        locks.append(lock)
    try:
        yield
    finally:
        del locks
