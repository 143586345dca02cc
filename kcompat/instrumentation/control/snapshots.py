"""Snapshots of a broker, and their restoration, on the control port."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.instrumentation.control.problems import ProblemError

if TYPE_CHECKING:
    from kcompat.instrumentation.control.control import Control
    from kcompat.instrumentation.control.operation import Nothing
    from kcompat.instrumentation.snapshots import Snapshot


class KeptSnapshot(Struct):
    """A snapshot that can be restored until it is deleted."""

    id: str


class WhichSnapshot(Struct, forbid_unknown_fields=True):
    """The choice of one snapshot."""

    snapshot: str


async def reset(control: Control, _: Nothing) -> None:
    """Go back to the state right after the start.

    Clients that are connected see a restart of the broker. Faults and recorded requests are kept.
    """
    await control.snapshots.reset()


async def take_snapshot(control: Control, _: Nothing) -> KeptSnapshot:
    """Take a snapshot of the broker: records, offsets, groups, transactions, topics, configs and users."""
    return KeptSnapshot(control.keep(await control.snapshots.take()))


async def restore_snapshot(control: Control, which: WhichSnapshot) -> None:
    """Go back to a snapshot, as often as you like and in any order.

    Clients that are connected see a restart of the broker. Faults and recorded requests are kept.
    """
    await control.snapshots.restore(_found(control, which.snapshot))


async def delete_snapshot(control: Control, which: WhichSnapshot) -> None:
    """Delete a snapshot and its files."""
    _found(control, which.snapshot)
    del control.kept_snapshots[which.snapshot]


def _found(control: Control, number: str) -> Snapshot:
    if number not in control.kept_snapshots:
        raise ProblemError(HTTPStatus.NOT_FOUND, f"there is no snapshot {number!r}: take one first")
    return control.kept_snapshots[number]
