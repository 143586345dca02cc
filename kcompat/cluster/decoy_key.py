"""The secret of the cluster from which unknown users get their made-up salts.

Every broker must show the same salt, also after a restart, or a client could tell unknown users from known
ones. Kafka has no such node; its brokers ignore it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kcompat.store.interface import NodeExistsError, parent_of

if TYPE_CHECKING:
    from random import Random

    from kcompat.store.interface import MetadataStore

PATH: Final = "/kcompat/decoy_key"
SIZE: Final = 32


class DecoyKey:
    """The secret, once it has been read or made."""

    def __init__(self, store: MetadataStore, random: Random) -> None:
        self._store = store
        self._random = random
        self.value = b""

    async def read(self) -> None:
        """Read the secret, or store a new one. Raises the store's errors."""
        for path, data in ((parent_of(PATH), b""), (PATH, self._random.randbytes(SIZE))):
            with suppress(NodeExistsError):
                await self._store.create(path, data)
        self.value, _ = await self._store.get(PATH)
