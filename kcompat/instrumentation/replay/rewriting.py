"""Conversion of recorded requests for another broker: with its ids, and at a version that it serves."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from kcompat.instrumentation.recording.decoding import read_request
from kcompat.instrumentation.recording.outcome import groups_of
from kcompat.instrumentation.replay.correspondence import kind_of
from kcompat.instrumentation.request_head import read_head
from kcompat.protocol.api_keys import API_FACTS
from kcompat.protocol.messages.headers import RequestHeader
from kcompat.protocol.uuids import ZERO_UUID, uuid_from_text, uuid_to_text
from kcompat.records.batch import iter_headers, set_producer

if TYPE_CHECKING:
    from kcompat.instrumentation.replay.correspondence import Correspondence, Kind
    from kcompat.instrumentation.request_head import RequestHead
    from kcompat.protocol.message import Message

_LENGTH: Final = struct.Struct(">i")
_PRODUCER: Final[Kind] = ("producer",)


class Rewriter:
    """Translator of the requests of one record to one broker."""

    def __init__(self, ids: Correspondence, names: dict[bytes, str], latest: dict[int, int]) -> None:
        """`names` are the recorded topics by id; `latest` are the highest versions that the broker serves, by
        API key.
        """
        self._ids = ids
        self._names = names
        self._latest = latest

    def rewritten(self, request: bytes, correlation_id: int) -> Rewritten | str:
        """Return a request for the broker, or a reason why it cannot be sent."""
        head = read_head(request)
        message = read_request(request, head)
        if head.key is None or message is None:
            return "not recorded as a whole"
        latest = self._latest.get(head.key)
        if latest is None:
            return f"the broker does not serve {head.key.name}"
        scope = next(iter(groups_of(message)), "")
        self._translate(message, scope)
        version = min(head.version, latest)
        try:
            frame = _frame(message, version, correlation_id, head.client_id)
        except ValueError as error:
            return f"the broker serves version {latest}, which cannot carry it: {error}"
        return Rewritten(frame, head, version, scope)

    def _translate(self, value: Any, scope: str) -> None:
        """Replace the ids in a message, wherever they are."""
        if getattr(value, "topic_id", ZERO_UUID) != ZERO_UUID:
            self._add_name(value)
        for field in value.__struct_fields__:
            inner = getattr(value, field)
            kind = kind_of(field, scope)
            if isinstance(inner, Struct):
                self._translate(inner, scope)
            elif isinstance(inner, list) and inner and isinstance(inner[0], Struct):
                for item in inner:
                    self._translate(item, scope)
            elif field == "records" and inner is not None:
                setattr(value, field, self._with_producers(bytearray(inner)))
            elif kind == ("topic",):
                new = self._ids.translated(kind, uuid_to_text(bytes(inner)))
                setattr(value, field, uuid_from_text(new))
            elif kind is not None and not isinstance(inner, list):
                setattr(value, field, self._ids.translated(kind, inner))

    def _add_name(self, value: Any) -> None:
        """Set the name of a topic that the request names by its id, for versions without ids."""
        name = self._names.get(bytes(value.topic_id))
        for field in ("name", "topic"):
            if field in value.__struct_fields__ and not getattr(value, field):
                setattr(value, field, name or "")

    def _with_producers(self, data: bytearray) -> bytes:
        """Return batches with the ids of producers that the broker has given."""
        view = memoryview(data)
        for position, header in list(iter_headers(view)):
            if header.producer_id >= 0:
                new = self._ids.translated(_PRODUCER, header.producer_id)
                if new != header.producer_id:
                    set_producer(view, position, new, header.producer_epoch)
        return bytes(data)


class Rewritten(Struct, frozen=True):
    """A request as it is sent to the broker."""

    frame: bytes
    """The frame with its length prefix."""
    head: RequestHead
    """The header of the recorded request."""
    version: int
    """The version at which it is sent."""
    scope: str
    """The group that the request names; empty if it names none."""


def _frame(message: Message, version: int, correlation_id: int, client_id: str | None) -> bytes:
    header_version = API_FACTS[message.api_key].request_header_version(version)
    header = RequestHeader(message.api_key, version, correlation_id, client_id if header_version else "")
    body = b"".join((*header.encode(header_version), *message.encode(version)))
    return _LENGTH.pack(len(body)) + body
