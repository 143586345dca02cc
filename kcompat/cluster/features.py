"""The finalized features of the cluster (KIP-584), as `/feature` has them.

With ZooKeeper no release of Kafka has a feature that could be finalized; what its clients are told is the
version of the node. Kafka's counterpart: `FinalizedFeatureChangeListener`.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from kcompat.cluster import znodes
from kcompat.cluster.payloads import DamagedZnodeError, field, json_object
from kcompat.cluster.store import NoNodeError, StoreError

if TYPE_CHECKING:
    from kcompat.cluster.store import MetadataStore, Watch

NO_EPOCH = -1
ENABLED = 1
NEWEST_FORM = 2

_log = logging.getLogger(__name__)


class FinalizedFeatures:
    """What one broker knows of them, from `start` to `stop`."""

    def __init__(self, store: MetadataStore) -> None:
        self._store = store
        self._watch: Watch | None = None
        self._reading: asyncio.Future[None] | None = None
        self.epoch = NO_EPOCH
        """Higher with each change; `NO_EPOCH` where the cluster has no finalized features at all."""

    async def start(self) -> None:
        """Read them, and again after every change. Raises the store's errors."""
        self._watch = self._store.watch(znodes.FEATURE, lambda _: self._read_again())
        await self._read()

    def stop(self) -> None:
        """Hear of nothing more."""
        if self._watch is not None:
            self._watch.cancel()
        if self._reading is not None:
            self._reading.cancel()

    def _read_again(self) -> None:
        self._reading = asyncio.ensure_future(self._read_if_possible())

    async def _read_if_possible(self) -> None:
        try:
            await self._read()
        except StoreError as error:  # the next session tells of what was missed
            _log.warning("the finalized features cannot be read: %s", error)

    async def _read(self) -> None:
        try:
            data, stat = await self._store.get(znodes.FEATURE)
            levels = _levels(data)
        except NoNodeError:
            levels = None
        except DamagedZnodeError as error:
            _log.error("%s is passed over: %s", znodes.FEATURE, error)
            levels = None
        if levels:
            _log.error("features are finalized that this broker does not have: %s", ", ".join(levels))
        self.epoch = NO_EPOCH if levels is None else stat.version


def _levels(data: bytes) -> dict[str, int] | None:
    """The levels by feature; None where features are disabled, as by brokers before 2.7."""
    payload = json_object(data)
    if not 1 <= field(payload, "version", int) <= NEWEST_FORM:
        raise DamagedZnodeError("its version is not known")
    features = field(payload, "features", dict[str, dict[str, int]])
    levels = {name: field(versions, "max_version_level", int) for name, versions in features.items()}
    return levels if field(payload, "status", int) == ENABLED else None
