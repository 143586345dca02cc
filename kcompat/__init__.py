"""A broker compatible with the Apache Kafka protocol.

Most programs need only `kcompat.Broker`, a broker inside this process. `kcompat.Cluster` runs several of
them. `kcompat.allow` and `kcompat.deny` make the ACLs that both take. The other names are classes of what
their methods take and return.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcompat.embedded.broker import Broker
    from kcompat.embedded.cluster import Cluster
    from kcompat.embedded.permissions import allow, deny
    from kcompat.instrumentation.groups import Group, GroupMember, GroupOffset
    from kcompat.instrumentation.new_records import AddedRecord, NewRecord
    from kcompat.instrumentation.records import Record
    from kcompat.instrumentation.topics import PartitionState, Topic

__all__ = [
    "AddedRecord",
    "Broker",
    "Cluster",
    "Group",
    "GroupMember",
    "GroupOffset",
    "NewRecord",
    "PartitionState",
    "Record",
    "Topic",
    "allow",
    "deny",
]

_MODULES = {
    "AddedRecord": "kcompat.instrumentation.new_records",
    "Broker": "kcompat.embedded.broker",
    "Cluster": "kcompat.embedded.cluster",
    "Group": "kcompat.instrumentation.groups",
    "GroupMember": "kcompat.instrumentation.groups",
    "GroupOffset": "kcompat.instrumentation.groups",
    "NewRecord": "kcompat.instrumentation.new_records",
    "PartitionState": "kcompat.instrumentation.topics",
    "Record": "kcompat.instrumentation.records",
    "Topic": "kcompat.instrumentation.topics",
    "allow": "kcompat.embedded.permissions",
    "deny": "kcompat.embedded.permissions",
}
"""Modules of the public names, imported at the first use of a name: most processes that import the package
are commands that need only a part of it.
"""


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
