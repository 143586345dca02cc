"""Simulated full, failed and slow disks, on the control port."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct, structs

from kcompat.instrumentation.control.faults import Fault, Milliseconds, kept
from kcompat.instrumentation.faults.disk import DiskFaults

if TYPE_CHECKING:
    from kcompat.instrumentation.control.control import Control


class WhichDisk(Struct, kw_only=True, forbid_unknown_fields=True):
    """The choice of log directories."""

    directory: Annotated[str | None, Meta(description="A log directory; all of them by default.")] = None
    broker: Annotated[
        int | None, Meta(description="Id of the broker that has the fault; by default all running ones.")
    ] = None


class SlowDisk(WhichDisk, kw_only=True):
    """A fault that makes operations on files slow."""

    ms: Milliseconds


async def fill_disk(control: Control, which: WhichDisk) -> Fault:
    """Simulate a full disk until the fault ends: nothing can be written."""
    return _add(control, "fill", which)


async def fail_disk(control: Control, which: WhichDisk) -> Fault:
    """Fail every operation on the disk.

    The directory is offline at once, and stays so until the broker starts again.
    """
    return _add(control, "fail", which)


async def slow_disk(control: Control, which: SlowDisk) -> Fault:
    """Let each write and each sync take longer. The broker waits meanwhile."""
    return _add(control, "slow", which)


def _add(control: Control, kind: str, which: WhichDisk) -> Fault:
    arguments: dict[str, Any] = structs.asdict(which)
    broker, directory = arguments.pop("broker"), arguments.pop("directory")
    return kept(
        control, [DiskFaults(node).add(kind, directory, **arguments) for node in control.chosen(broker)]
    )
