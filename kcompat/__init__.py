"""A broker compatible with the Apache Kafka protocol.

Most programs need only `kcompat.Broker`, a broker inside this process. `kcompat.Cluster` runs several of
them. `kcompat.allow` and `kcompat.deny` make the ACLs that both take.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcompat.embedded import Broker, Cluster, allow, deny

__all__ = ["Broker", "Cluster", "allow", "deny"]


def __getattr__(name: str) -> object:
    # Imported when asked for: most users of the package are commands that need only a part of it.
    if name in __all__:
        from kcompat import embedded

        return getattr(embedded, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
