"""Settings of coordinators with the broker's defaults, and changes to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from msgspec.structs import replace

from kcompat.config.broker import BrokerConfig

if TYPE_CHECKING:
    from collections.abc import Callable


class Settings(Protocol):
    """A struct of settings that reads itself from a broker's configuration."""

    @classmethod
    def read(cls, get: Callable[[str], Any]) -> Self: ...


S = TypeVar("S", bound=Settings)

_DEFAULTS = BrokerConfig()


def with_defaults(kind: type[S], **changes: Any) -> S:
    """Return the default settings with these fields changed."""
    changed: S = replace(kind.read(_DEFAULTS.get), **changes)  # type: ignore[type-var]
    return changed
