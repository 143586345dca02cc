"""The broker and cluster that own log directories, read from `meta.properties` before any log is opened."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from kcompat.log.checkpoints import CheckpointDamaged, format_properties, parse_properties, read_optional
from kcompat.log.files import FILES
from kcompat.log.names import META_PROPERTIES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.log.files import Files


class Identity(msgspec.Struct, frozen=True):
    """Ids of the broker and the cluster that wrote a log directory; None for an id that is not stored."""

    broker_id: int | None = None
    cluster_id: str | None = None


def stored_identity(directories: Iterable[str], files: Files = FILES) -> Identity:
    """Return the ids in the first `meta.properties` that can be read. `LogDirectory.claim` checks each file.

    Kafka's brokers write `broker.id` with ZooKeeper, `node.id` with KRaft.
    """
    for directory in directories:
        with suppress(OSError, CheckpointDamaged):
            data = read_optional(files, f"{directory}/{META_PROPERTIES}")
            if data is not None:
                properties = parse_properties(data)
                number = properties.get("broker.id", properties.get("node.id", ""))
                return Identity(int(number) if number.isdecimal() else None, properties.get("cluster.id"))
    return Identity()


def store_identity(directories: Iterable[str], identity: Identity, files: Files = FILES) -> None:
    """Write `meta.properties` to new log directories, creating those that do not exist. Raises OSError."""
    known = {"broker.id": identity.broker_id, "cluster.id": identity.cluster_id}
    properties = {"version": "0"} | {key: str(value) for key, value in known.items() if value is not None}
    for directory in directories:
        files.make_directories(directory)
        files.replace_file(f"{directory}/{META_PROPERTIES}", format_properties(properties), sync=True)
