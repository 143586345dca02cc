"""A metadata store that is prepared before its first broker uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kcompat.clock import Clock
    from kcompat.config.broker import BrokerConfig
    from kcompat.node.environment import Environment
    from kcompat.store.interface import MetadataStore, Sessions

    Prepare: TypeAlias = Callable[[MetadataStore], Awaitable[None]]


def with_prepared_store(environment: Environment, prepare: Prepare) -> Environment:
    """Return the environment whose store calls `prepare` with its first session, before a broker gets the
    session.
    """

    def open_store(config: BrokerConfig, clock: Clock) -> _PreparedStore:
        return _PreparedStore(environment.open_store(config, clock), prepare)

    return replace(environment, open_store=open_store)


class _PreparedStore:
    """A metadata store that prepares its first session."""

    def __init__(self, store: Sessions, prepare: Prepare) -> None:
        self.is_own = store.is_own
        self._store = store
        self._prepare: Prepare | None = prepare

    async def session(self) -> MetadataStore:
        """Return a session, as `Sessions.session` does."""
        session = await self._store.session()
        prepare, self._prepare = self._prepare, None
        if prepare is not None:
            await prepare(session)
        return session

    async def close(self) -> None:
        """Close the store."""
        await self._store.close()
