"""The places of one broker at which instruments attach, such as recorders and faults on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from kcompat.cluster.image import ImageHolder
    from kcompat.net.interception import Interception
    from kcompat.net.observer import ConnectionObserver


class Hooks(Struct, frozen=True):
    """The places of one broker at which instruments attach."""

    broker_id: int
    interception: Interception
    observers: list[ConnectionObserver]
    """Observers of the connections to the broker."""
    metadata: ImageHolder
