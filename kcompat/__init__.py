"""A broker compatible with the Apache Kafka protocol.

Most programs need only `kcompat.Broker`, a broker inside this process. `kcompat.Cluster` runs several of
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcompat.embedded import Broker, Cluster

__all__ = ["Broker", "Cluster"]


def __getattr__(name: str) -> object:
    # Imported when asked for: most users of the package are commands that need only a part of it.
    if name in __all__:
        from kcompat import embedded

        return getattr(embedded, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
