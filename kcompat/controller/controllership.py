"""Reads and writes of a candidate's nodes in the store during a controller election.

Election, as in Kafka's `KafkaZkClient.registerControllerAndIncrementControllerEpoch`: one transaction creates
the ephemeral `/controller` and moves `/controller_epoch` on by one from the version just read. The new
version of that node guards every later write of this controller.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.cluster import znodes
from kcompat.controller.loading import read
from kcompat.store.interface import (
    BadVersionError,
    Check,
    Create,
    Delete,
    NodeExistsError,
    NoNodeError,
    SetData,
    UnknownOutcomeError,
)

if TYPE_CHECKING:
    from kcompat.store.interface import MetadataStore


class CurrentController(Struct, frozen=True):
    """The broker that is the controller, and whether this session created `/controller`."""

    broker_id: int
    is_mine: bool


class Controllership(Struct, frozen=True):
    """One term as the controller: its epoch, and the version of `/controller_epoch`,
    which guards its writes.
    """

    epoch: int
    epoch_version: int


async def current_controller(store: MetadataStore) -> CurrentController | None:
    """Return the current controller, or None while there is none."""
    try:
        broker_id, stat = await read(store, znodes.CONTROLLER, znodes.decode_controller)
    except NoNodeError:
        return None
    return CurrentController(broker_id, stat.ephemeral_owner == store.session_id)


async def elect(
    store: MetadataStore, broker_id: int, now_ms: int, *, is_held: bool = False
) -> Controllership | None:
    """Try to become the controller; return None if another broker won. With `is_held`, `/controller` already
    belongs to this session from an earlier term, so only the epoch is raised.
    """
    if await store.exists(znodes.CONTROLLER_EPOCH) is None:
        with suppress(NodeExistsError):
            await store.create(znodes.CONTROLLER_EPOCH, znodes.encode_epoch(0))
    last_epoch, stat = await read(store, znodes.CONTROLLER_EPOCH, znodes.decode_epoch)
    elected = Controllership(last_epoch + 1, stat.version + 1)
    node = Create(znodes.CONTROLLER, znodes.encode_controller(broker_id, now_ms), ephemeral=True)
    epoch_node = SetData(znodes.CONTROLLER_EPOCH, znodes.encode_epoch(elected.epoch), stat.version)
    try:
        await store.multi([epoch_node] if is_held else [node, epoch_node])
    except (NodeExistsError, BadVersionError):
        return None
    except UnknownOutcomeError:
        found = await current_controller(store)
        epoch, _ = await read(store, znodes.CONTROLLER_EPOCH, znodes.decode_epoch)
        return elected if found is not None and found.is_mine and epoch == elected.epoch else None
    return elected


async def depose(store: MetadataStore, broker_id: int) -> None:
    """Remove `/controller` of a broker whose process has ended, so that another can be elected. A controller
    elected meanwhile stays.
    """
    _, stat = await read(store, znodes.CONTROLLER_EPOCH, znodes.decode_epoch)
    found = await current_controller(store)
    if found is not None and found.broker_id == broker_id:
        with suppress(BadVersionError, NoNodeError):
            await store.multi([Check(znodes.CONTROLLER_EPOCH, stat.version), Delete(znodes.CONTROLLER)])


async def step_down(store: MetadataStore) -> None:
    """Remove `/controller` if it belongs to this session."""
    _, stat = await read(store, znodes.CONTROLLER_EPOCH, znodes.decode_epoch)
    found = await current_controller(store)
    if found is not None and found.is_mine:
        with suppress(BadVersionError, NoNodeError):
            await store.multi([Check(znodes.CONTROLLER_EPOCH, stat.version), Delete(znodes.CONTROLLER)])
