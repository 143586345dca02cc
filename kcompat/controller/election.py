"""What a broker writes into the store before it may serve: its registration, and its candidacy for the
controller's office.

Election, as in Kafka's `KafkaZkClient.registerControllerAndIncrementControllerEpoch`: one transaction creates
the ephemeral `/controller` and moves `/controller_epoch` on by one from the version just read. The new
version of that node guards every later write of this controller.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from kcompat.cluster import znodes
from kcompat.cluster.image import BrokerInfo
from kcompat.cluster.store import BadVersionError, Create, NodeExistsError, SetData, StoreError
from kcompat.controller.loading import read
from kcompat.controller.state import RegisteredBroker

if TYPE_CHECKING:
    from kcompat.cluster.store import MetadataStore


class BrokerIdInUseError(StoreError):
    """Another live broker is registered under this id."""


class ControllerElsewhereError(StoreError):
    """Another live broker is the controller."""


async def register_broker(
    store: MetadataStore, broker_id: int, registration: znodes.BrokerRegistration, now_ms: int
) -> RegisteredBroker:
    """Register this broker for as long as its session lives; the answer has its broker epoch."""
    path = znodes.broker_path(broker_id)
    try:
        await store.create(path, znodes.encode_broker(registration, now_ms), ephemeral=True)
    except NodeExistsError as error:
        raise BrokerIdInUseError(
            f"broker id {broker_id} is in use by another live broker of this cluster"
        ) from error
    _, stat = await store.get(path)
    info = BrokerInfo(broker_id, registration.rack, registration.endpoints, registration.security_protocols)
    return RegisteredBroker(info, stat.czxid)


async def elect(store: MetadataStore, broker_id: int, now_ms: int) -> tuple[int, int]:
    """Become the controller: its epoch and the version of `/controller_epoch`. Raises
    `ControllerElsewhereError`.
    """
    if await store.exists(znodes.CONTROLLER_EPOCH) is None:
        await _create_if_absent(store, znodes.CONTROLLER_EPOCH, znodes.encode_epoch(0))
    last_epoch, stat = await read(store, znodes.CONTROLLER_EPOCH, znodes.decode_epoch)
    epoch = last_epoch + 1
    try:
        await store.multi(
            [
                Create(znodes.CONTROLLER, znodes.encode_controller(broker_id, now_ms), ephemeral=True),
                SetData(znodes.CONTROLLER_EPOCH, znodes.encode_epoch(epoch), stat.version),
            ]
        )
    except (NodeExistsError, BadVersionError) as error:
        raise ControllerElsewhereError("another live broker of this cluster is the controller") from error
    return epoch, stat.version + 1


async def _create_if_absent(store: MetadataStore, path: str, data: bytes) -> None:
    """Create a persistent node, unless another broker was first."""
    with suppress(NodeExistsError):
        await store.create(path, data)
