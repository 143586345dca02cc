"""A shortcut for Produce requests that differ from an earlier one only in their batch, as most do.

The meaning of the earlier request is remembered by the bytes around its batch, so the next such request is
served without being decoded: its batch is checked and appended. Compressed batches, transactions and all
other requests that take more than that are left to `production.py`, before anything is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.api.context import RequestContext
from kcompat.api.produce.acceptance import FIRST_WITH_BATCHES, accept_plain
from kcompat.api.produce.production import (
    FIRST_WITH_IDS,
    Production,
    admit,
    outcome_of,
    place_behind,
    resolve,
)
from kcompat.api.produce.refusals import PartitionAnswer, TopicAnswer
from kcompat.api.topic_access import is_remembered
from kcompat.log.append import AppendResult
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.compiling import find_single_batch
from kcompat.protocol.constants import ACKS_NONE
from kcompat.protocol.errors import NO_ERROR
from kcompat.protocol.messages.produce import ProduceRequest, ProduceResponse
from kcompat.replication.partition import Partition
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import Services
    from kcompat.api.produce.production import AtOnce
    from kcompat.api.registry import Reader
    from kcompat.net.answers import Connection

MOST_KNOWN: Final = 1000
LONGEST_HEAD: Final = 512
"""Number of requests that are remembered per version, and largest number of bytes that each may have around
its batch. Together with the decoded requests they take at most 2 MB.
"""

_PRODUCE: Final = ApiKey.PRODUCE
_WRITE: Final = Operation.WRITE


class _Known(Struct):
    """A decoded request, and the response to it, whose row is updated for each batch."""

    client_id: str | None
    request: ProduceRequest
    """The request without its batch."""
    topic: str
    row: PartitionAnswer
    response: ProduceResponse


def shortcut(services: Services, version: int, read: Reader) -> RepeatedProduces | None:
    """Return the shortcut for a version of Produce, or None for versions before batches v2."""
    return RepeatedProduces(services, version, read) if version >= FIRST_WITH_BATCHES else None


class RepeatedProduces:
    """The remembered requests of one version: a `kcompat.api.registry.Shortcut`."""

    def __init__(self, services: Services, version: int, read: Reader) -> None:
        self._services = services
        self._server = services.server
        self._metadata = services.cluster.metadata
        self._find = services.storage.replicas.find
        self._now_ms = services.server.clock.now_ms
        self._version = version
        self._read = read
        self._known: dict[bytes, _Known] = {}

    def serve(self, connection: Connection, frame: memoryview) -> AtOnce:
        """Serve a request that matches a remembered one; return None for any other."""
        version = self._version
        found = find_single_batch(frame, version)
        if found is None:
            return None
        head, start, end = found
        known = self._known.get(head)
        if known is None:
            self._learn(connection, frame, head)
            return None
        topic, row, request = known.topic, known.row, known.request
        authorizer = self._server.authorizer
        if not authorizer.allows_everything and not is_remembered(authorizer, connection, _WRITE, topic):
            return None
        if version >= FIRST_WITH_IDS and (
            self._metadata.image.topic_names.get(request.topic_data[0].topic_id) != topic
        ):
            return None
        partition = self._find(topic, row.index)
        if not isinstance(partition, Partition):
            return None
        batch, now_ms = frame[start:end], self._now_ms()
        header = accept_plain(batch, version, partition.log.config, now_ms)
        if header is None or header.is_transactional:
            return None
        result = partition.append(batch, header, request.acks, now_ms)
        if isinstance(result, AppendResult) and not result.error:
            place_behind(connection, batch, partition)
            if outcome_of(partition, result.last_offset + 1, request.acks) == NO_ERROR:
                row.base_offset = result.base_offset
                row.log_append_time_ms = result.append_time_ms
                row.log_start_offset = result.log_start_offset
                return known.response
        context = RequestContext(connection, self._services, version, known.client_id, now_ms, _PRODUCE)
        return Production(context, request, [], [], {}, []).answer(partition, result, batch)

    def _learn(self, connection: Connection, frame: memoryview, head: bytes) -> None:
        """Remember the meaning of a request, if matching requests can be served here."""
        if len(head) > LONGEST_HEAD:
            return
        client_id, request = self._read(frame)
        topic = request.topic_data[0]
        index = topic.partition_data[0].index
        topic.partition_data[0].records = None
        context = RequestContext(
            connection, self._services, self._version, client_id, self._now_ms(), _PRODUCE
        )
        name = resolve(context, topic)
        if (
            request.acks == ACKS_NONE
            or admit(context, name, request.acks)
            or not isinstance(self._find(name, index), Partition)
        ):
            return
        row = PartitionAnswer(index)
        response = ProduceResponse([TopicAnswer(topic.name, topic.topic_id, [row])])
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[head] = _Known(client_id, request, name, row, response)
