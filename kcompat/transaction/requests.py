"""The requests to the transaction coordinator, and its answers, as plain values."""

from __future__ import annotations

from msgspec import Struct

from kcompat.protocol.constants import NO_EPOCH
from kcompat.protocol.errors import ErrorCode
from kcompat.topics import TopicPartition
from kcompat.transaction.transaction import NO_PRODUCER_ID

Errors = dict[TopicPartition, ErrorCode]


class Producer(Struct, frozen=True):
    """A producer id and its epoch."""

    id: int = NO_PRODUCER_ID
    epoch: int = NO_EPOCH


class InitRequest(Struct, frozen=True):
    """InitProducerId. `expected` is who the producer takes itself for; None if it has just begun."""

    transactional_id: str
    timeout_ms: int
    expected: Producer | None = None


class EndRequest(Struct, frozen=True):
    """EndTxn, of a client that goes by this `transaction.version`."""

    transactional_id: str
    producer: Producer
    commits: bool
    client_version: int = 0


class ProducerAnswer(Struct, frozen=True):
    """The producer as it goes on, or an error."""

    error: ErrorCode = ErrorCode.NONE
    producer: Producer = Producer()


class NeedsProducerId(Struct, frozen=True):
    """The request has to be asked again with a producer id that nobody has."""
