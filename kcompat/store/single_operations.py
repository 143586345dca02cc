"""Changes of one node, for a store that has transactions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from kcompat.store.interface import ANY_VERSION, Create, Delete, SetData, Stat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.store.interface import Op, OpResult


class SingleOperations(ABC):
    """The methods of `MetadataStore` that are transactions of one operation, built on `multi`."""

    @abstractmethod
    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        """Run all of `ops`, or none."""

    async def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> str:
        """Make a node and answer its path."""
        (made,) = await self.multi([Create(path, data, ephemeral, sequential)])
        assert isinstance(made, str)
        return made

    async def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Stat:
        """Replace a node's data."""
        (stat,) = await self.multi([SetData(path, data, version)])
        assert isinstance(stat, Stat)
        return stat

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        """Remove a node."""
        await self.multi([Delete(path, version)])
