"""Settings of coordinators, logs and fetchers with the broker's defaults, and changes to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from msgspec.structs import replace

from kcompat.config.broker import BrokerConfig
from kcompat.config.topic import topic_config
from kcompat.replication.following.fetcher_manager import fetcher_manager_config
from kcompat.replication.storage_config import cleaner_config, log_config

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.log.config import CleanerConfig, LogConfig
    from kcompat.replication.following.fetch_state import FetcherConfig
    from kcompat.replication.following.fetcher_manager import FetcherManagerConfig


class Settings(Protocol):
    """A struct of settings that reads itself from a broker's configuration."""

    @classmethod
    def read(cls, get: Callable[[str], Any]) -> Self: ...


S = TypeVar("S", bound=Settings)

_DEFAULTS = BrokerConfig()
_LOG = log_config(topic_config(_DEFAULTS, {}))
_CLEANER = cleaner_config(_DEFAULTS)
_FETCHERS = fetcher_manager_config(_DEFAULTS)


def with_defaults(kind: type[S], **changes: Any) -> S:
    """Return the default settings with these fields changed."""
    changed: S = replace(kind.read(_DEFAULTS.get), **changes)  # type: ignore[type-var]
    return changed


def log_settings(**changes: Any) -> LogConfig:
    """Return the settings of a log whose topic has no configs, with these fields changed."""
    return replace(_LOG, **changes)


def cleaner_settings(**changes: Any) -> CleanerConfig:
    """Return the default settings of the log cleaner with these fields changed."""
    return replace(_CLEANER, **changes)


def fetcher_settings(**changes: Any) -> FetcherConfig:
    """Return the default settings of a fetcher with these fields changed."""
    return replace(_FETCHERS.fetcher, **changes)


def fetcher_manager_settings(**changes: Any) -> FetcherManagerConfig:
    """Return the default settings of the fetchers of a broker with these fields changed."""
    return replace(_FETCHERS, **changes)
