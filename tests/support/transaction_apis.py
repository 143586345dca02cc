"""Handlers of transactions over coordinators in memory."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.config.broker import BrokerConfig
from kcompat.promise import Promise
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode
from kcompat.security.authorizer import AllowEverything
from support.asking import ask, services_of
from support.group_apis import IMAGE
from support.group_coordinators import GroupFixture
from support.transaction_coordinators import TransactionFixture

if TYPE_CHECKING:
    from collections.abc import Collection

    from kcompat.protocol.message import Message
    from kcompat.security.authorizer import Authorizer
    from kcompat.transaction.markers import Marker
    from kcompat.transaction.requests import Errors, Producer

NAME = "id"
FENCED, OLD_FENCED = ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH


class WrittenMarkers:
    """A `MarkerWriter` that keeps what it is given, and refuses as told."""

    def __init__(self) -> None:
        self.written: list[Marker] = []
        self.errors: Errors = {}

    def write(self, marker: Marker) -> Promise[Errors]:
        self.written.append(marker)
        return Promise.resolved({each: self.errors.get(each, ErrorCode.NONE) for each in marker.partitions})


class TransactionHandlers:
    """Handlers over a transaction and a group coordinator in memory; every message passes through its bytes.
    There are t1 with two partitions and t2 with one.
    """

    def __init__(self) -> None:
        self.fixture = TransactionFixture()
        self.groups = GroupFixture()
        self.markers = WrittenMarkers()
        self.cluster = MetadataCache("cluster")
        self.cluster.update(IMAGE)
        self.authorizer: Authorizer = AllowEverything()

    def ask(self, request: Message, version: int) -> Any:
        """The answer, or a promise of it."""
        module = importlib.import_module(f"kcompat.api.{ApiKey(request.api_key).name.lower()}")
        services = services_of(
            config=BrokerConfig(),
            transactions=self.fixture.coordinator,
            groups=self.groups.coordinator,
            markers=self.markers,
            metadata=self.cluster,
            authorizer=self.authorizer,
        )
        return ask(module, version, request, services)

    def fenced(self) -> Producer:
        """A producer whose id another one has taken over."""
        former = self.fixture.init().producer
        self.fixture.init()
        return former

    def in_transaction(self, partitions: Collection[tuple[str, int]]) -> bool:
        """Whether the open transaction has exactly these."""
        transaction = self.fixture.transaction()
        return transaction is not None and transaction.partitions == frozenset(partitions)
