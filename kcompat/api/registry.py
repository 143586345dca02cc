"""The served APIs, their versions and handlers. ApiVersions, the page of APIs in the documentation and
parametrised tests are generated from this table.

The module of each API has the API's name and a function `handle`; it is imported at the first use of its
handler.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from kcompat.net.answers import Mode
from kcompat.protocol.api_keys import API_FACTS, ApiKey

if TYPE_CHECKING:
    from kcompat.net.answers import Connection

Handler = Callable[[Any, Any], Any]
"""`handle(context, request)` returns the response, or a `Promise`, an `Interruptible` or a `Busy` of one.
None means that no answer is sent (acks=0), `CLOSE` that the connection is closed. A handler raises
`ProtocolViolation` before it has done anything, for a request that Kafka refuses to parse."""

Reader = Callable[[memoryview], tuple["str | None", Any]]
"""Function that returns the client id and the request in a frame, or raises ProtocolViolation."""


class Shortcut(Protocol):
    """Port that serves some requests of one version of an API without decoding them in full."""

    def serve(self, connection: Connection, frame: memoryview) -> Any:
        """Serve a request and return the handler's response, or return None without an effect to have the
        handler called.

        The response has to be encoded before the next call.
        """


class Served(Struct, frozen=True):
    """An API: its handler, its versions, the effect of a waiting request on later requests of its connection,
    and the kinds of listeners that serve it.

    A request of any other version closes the connection, except for ApiVersions.
    """

    key: ApiKey
    handler: Callable[[], Handler]
    """Function that imports and returns the handler."""
    min_version: int
    max_version: int
    mode: Mode
    listeners: frozenset[str]
    shortcut: Callable[[Any, int, Reader], Shortcut | None] | None = None
    """Function that makes the shortcut for a version from the broker's `Services`, or returns None."""


BROKER_LISTENERS = frozenset({"broker", "zkBroker"})
"""Kinds of the listener that each broker opens for clients and other brokers; "zkBroker" is Kafka's name for
a broker with ZooKeeper.
"""


def served_at(listeners: frozenset[str], apis: Iterable[Served]) -> tuple[Served, ...]:
    """Return the APIs that are served at a listener of these kinds."""
    return tuple(api for api in apis if listeners & api.listeners)


def _handler(key: ApiKey) -> Handler:
    handler: Handler = importlib.import_module(f"kcompat.api.{key.name.lower()}").handle
    return handler


def _produce_shortcut(services: Any, version: int, read: Reader) -> Shortcut | None:
    module = importlib.import_module("kcompat.api.produce.repeated")
    shortcut: Shortcut | None = module.shortcut(services, version, read)
    return shortcut


def _served(
    key: ApiKey,
    *,
    since: int = 0,
    until: int | None = None,
    mode: Mode = Mode.BLOCKING,
    shortcut: Callable[[Any, int, Reader], Shortcut | None] | None = None,
) -> Served:
    return Served(
        key,
        partial(_handler, key),
        min_version=since,
        max_version=API_FACTS[key].latest_stable if until is None else until,
        mode=mode,
        listeners=API_FACTS[key].listeners,
        shortcut=shortcut,
    )


SERVED: tuple[Served, ...] = (
    _served(ApiKey.PRODUCE, mode=Mode.PIPELINED, shortcut=_produce_shortcut),
    _served(ApiKey.FETCH, mode=Mode.INTERRUPTIBLE),
    _served(ApiKey.LIST_OFFSETS),
    _served(ApiKey.METADATA),
    _served(ApiKey.LEADER_AND_ISR),
    _served(ApiKey.STOP_REPLICA),
    _served(ApiKey.UPDATE_METADATA),
    _served(ApiKey.CONTROLLED_SHUTDOWN),
    _served(ApiKey.OFFSET_COMMIT),
    _served(ApiKey.OFFSET_FETCH),
    _served(ApiKey.FIND_COORDINATOR),
    _served(ApiKey.JOIN_GROUP),
    _served(ApiKey.HEARTBEAT),
    _served(ApiKey.LEAVE_GROUP),
    _served(ApiKey.SYNC_GROUP),
    _served(ApiKey.DESCRIBE_GROUPS),
    _served(ApiKey.LIST_GROUPS),
    _served(ApiKey.SASL_HANDSHAKE),
    _served(ApiKey.API_VERSIONS),
    _served(ApiKey.CREATE_TOPICS),
    _served(ApiKey.DELETE_TOPICS),
    _served(ApiKey.DELETE_RECORDS),
    _served(ApiKey.INIT_PRODUCER_ID),
    _served(ApiKey.ADD_PARTITIONS_TO_TXN),
    _served(ApiKey.ADD_OFFSETS_TO_TXN),
    _served(ApiKey.END_TXN),
    _served(ApiKey.WRITE_TXN_MARKERS),
    _served(ApiKey.TXN_OFFSET_COMMIT),
    _served(ApiKey.OFFSET_FOR_LEADER_EPOCH),
    _served(ApiKey.DESCRIBE_ACLS),
    _served(ApiKey.CREATE_ACLS),
    _served(ApiKey.DELETE_ACLS),
    _served(ApiKey.DESCRIBE_CONFIGS),
    _served(ApiKey.ALTER_CONFIGS),
    _served(ApiKey.ALTER_REPLICA_LOG_DIRS),
    _served(ApiKey.DESCRIBE_LOG_DIRS),
    _served(ApiKey.SASL_AUTHENTICATE),
    _served(ApiKey.CREATE_PARTITIONS),
    _served(ApiKey.CREATE_DELEGATION_TOKEN),
    _served(ApiKey.RENEW_DELEGATION_TOKEN),
    _served(ApiKey.EXPIRE_DELEGATION_TOKEN),
    _served(ApiKey.DESCRIBE_DELEGATION_TOKEN),
    _served(ApiKey.DELETE_GROUPS),
    _served(ApiKey.ELECT_LEADERS),
    _served(ApiKey.INCREMENTAL_ALTER_CONFIGS),
    _served(ApiKey.ALTER_PARTITION_REASSIGNMENTS),
    _served(ApiKey.LIST_PARTITION_REASSIGNMENTS),
    _served(ApiKey.OFFSET_DELETE),
    _served(ApiKey.DESCRIBE_CLIENT_QUOTAS),
    _served(ApiKey.ALTER_CLIENT_QUOTAS),
    _served(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS),
    _served(ApiKey.ALTER_USER_SCRAM_CREDENTIALS),
    _served(ApiKey.DESCRIBE_QUORUM),
    _served(ApiKey.ALTER_PARTITION),
    _served(ApiKey.UPDATE_FEATURES),
    _served(ApiKey.DESCRIBE_CLUSTER),
    _served(ApiKey.DESCRIBE_PRODUCERS),
    _served(ApiKey.CONSUMER_GROUP_HEARTBEAT),
    _served(ApiKey.CONSUMER_GROUP_DESCRIBE),
    _served(ApiKey.DESCRIBE_TRANSACTIONS),
    _served(ApiKey.LIST_TRANSACTIONS),
    _served(ApiKey.SHARE_GROUP_HEARTBEAT, since=1),
    _served(ApiKey.SHARE_GROUP_DESCRIBE, since=1),
    _served(ApiKey.SHARE_FETCH, since=1, mode=Mode.INTERRUPTIBLE),
    _served(ApiKey.SHARE_ACKNOWLEDGE, since=1),
    _served(ApiKey.INITIALIZE_SHARE_GROUP_STATE),
    _served(ApiKey.READ_SHARE_GROUP_STATE),
    _served(ApiKey.WRITE_SHARE_GROUP_STATE),
    _served(ApiKey.DELETE_SHARE_GROUP_STATE),
    _served(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY),
    _served(ApiKey.STREAMS_GROUP_HEARTBEAT, until=0),
    _served(ApiKey.STREAMS_GROUP_DESCRIBE, until=0),
    _served(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS),
    _served(ApiKey.ALTER_SHARE_GROUP_OFFSETS),
    _served(ApiKey.DELETE_SHARE_GROUP_OFFSETS),
    _served(ApiKey.LIST_CONFIG_RESOURCES),
    _served(ApiKey.ALLOCATE_PRODUCER_IDS),
    _served(ApiKey.DESCRIBE_TOPIC_PARTITIONS),
)
