"""Removal of topics that were deleted while this broker was not registered.

A controller sends deletions to registered brokers only. A broker that registers is sent all existing topics,
but no deletions that it missed. A starting process has an empty image, but a broker whose session has ended
still has its old one. Such a broker therefore asks the store which topics of its image still exist.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from kcompat.cluster import znodes
from kcompat.protocol.constants import NO_EPOCH
from kcompat.store.interface import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.cluster.image import TopicImage
    from kcompat.cluster.metadata_cache import MetadataCache
    from kcompat.cluster.registration import Registration

_log = logging.getLogger(__name__)


class ChildrenReader(Protocol):
    """The method of a `MetadataStore` that this module uses."""

    async def children(self, path: str) -> list[str]:
        """Return the names of a node's children."""


class MissedDeletions:
    """Search for topics that were deleted while one broker was not registered, repeated for each new
    registration until `stop`.
    """

    def __init__(self, store: ChildrenReader, cluster: MetadataCache, registration: Registration) -> None:
        self._store = store
        self._cluster = cluster
        self._shown: Mapping[str, TopicImage] = {}
        self._asking: asyncio.Task[None] | None = None
        self._epochs = registration.subscribe(self._registered)

    async def stop(self) -> None:
        """Stop searching, and wait for the pending read to end."""
        self.abandon()
        if self._asking is not None:
            with suppress(asyncio.CancelledError):
                await self._asking

    def abandon(self) -> None:
        """Stop searching at once, without waiting."""
        self._epochs.cancel()
        if self._asking is not None:
            self._asking.cancel()

    def _registered(self, epoch: int) -> None:
        if self._asking is not None:
            self._asking.cancel()
        if epoch == NO_EPOCH:
            # These topics existed before the next registration. A newly registered session reads a state of
            # the store that is at least as new, so a topic that it does not find was deleted.
            self._shown = self._cluster.image.topics
        elif self._shown:
            self._asking = asyncio.create_task(self._forget_deleted(), name="missed-deletions")

    async def _forget_deleted(self) -> None:
        try:
            there = set(await self._store.children(znodes.TOPICS))
        except StoreError as error:  # the next registration asks again
            _log.warning("this broker may show topics that are deleted: %s", error)
            return
        image = self._cluster.image
        shown, self._shown = self._shown, {}
        gone = [
            name
            for name, topic in shown.items()
            if name not in there and name in image.topics and image.topics[name].topic_id == topic.topic_id
        ]
        if gone:
            self._cluster.forget(gone)
