"""The finalized features of the cluster (KIP-584), as one broker knows them from `/feature`.

Kafka's counterpart: `FinalizedFeatureChangeListener`.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from kcompat.cluster import znodes
from kcompat.cluster.feature_levels import SUPPORTED, are_supported, decode_finalized
from kcompat.cluster.payloads import DamagedZnodeError
from kcompat.promise import Promise
from kcompat.protocol.constants import NO_EPOCH
from kcompat.store.interface import NoNodeError, StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.store.interface import MetadataStore, Watch


_log = logging.getLogger(__name__)


class FinalizedFeatures:
    """The finalized features in force on one broker, kept up to date from `start` to `stop`."""

    def __init__(self, store: MetadataStore) -> None:
        self._store = store
        self._watch: Watch | None = None
        self._reading: set[asyncio.Task[None]] = set()
        self.epoch = NO_EPOCH
        """Version of the finalized features, raised by each change; `NO_EPOCH` if `/feature` does not exist
        or features are disabled.
        """
        self.levels: Mapping[str, int] = {}
        """Finalized level of each finalized feature."""

    def level(self, feature: str) -> int:
        """Return the finalized level of a feature; 0 if the feature is not finalized."""
        return self.levels.get(feature, 0)

    async def start(self) -> None:
        """Read the finalized features now, and again after every change. Raises the store's errors."""
        self._watch = self._store.watch(znodes.FEATURE, lambda _: self.read_again())
        await self._read()

    def stop(self) -> None:
        """Stop watching the node, and cancel reads under way."""
        if self._watch is not None:
            self._watch.cancel()
        for reading in self._reading:
            reading.cancel()

    def read_again(self) -> Promise[None]:
        """Read `/feature` again.

        The promise is completed when the content is in force on this broker, or could not be read.
        """
        promise: Promise[None] = Promise()
        reading = asyncio.ensure_future(self._read_if_possible())
        self._reading.add(reading)

        def ended(_: object) -> None:
            self._reading.discard(reading)
            promise.complete(None)

        reading.add_done_callback(ended)
        return promise

    async def _read_if_possible(self) -> None:
        try:
            await self._read()
        except StoreError as error:  # the next session reports missed changes
            _log.warning("the finalized features cannot be read: %s", error)

    async def _read(self) -> None:
        try:
            data, stat = await self._store.get(znodes.FEATURE)
            levels = decode_finalized(data)
        except NoNodeError:
            levels = None
        except DamagedZnodeError as error:
            _log.error("%s is ignored: %s", znodes.FEATURE, error)
            levels = None
        if levels is None:
            self.epoch, self.levels = NO_EPOCH, {}
            return
        if not are_supported(levels, SUPPORTED):
            _log.error("features are finalized that this broker does not have: %s", levels)
        self.epoch, self.levels = stat.version, levels
