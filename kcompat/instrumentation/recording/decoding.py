"""The messages in recorded bytes, and messages as plain values: dicts, lists, text, numbers and bytes."""

from __future__ import annotations

from functools import cache
from struct import error as StructError  # noqa: N812 - the module's own name says nothing
from typing import TYPE_CHECKING, Any, Final

from kcompat.instrumentation.request_head import response_body_at
from kcompat.protocol.api_keys import API_FACTS, ApiKey, request_class, response_class
from kcompat.protocol.message import decoder
from kcompat.protocol.plan import plan_message
from kcompat.protocol.schema import ProtocolViolation
from kcompat.protocol.uuids import uuid_to_text
from kcompat.records.batch import iter_headers, read_records
from kcompat.records.errors import RecordsDamaged
from kcompat.records.layout import MAGIC, MAGIC_AT
from kcompat.records.message_set import inner_messages, shallow_messages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.instrumentation.recording.exchange import Kept
    from kcompat.instrumentation.request_head import RequestHead
    from kcompat.protocol.message import Message
    from kcompat.protocol.plan import FieldPlan, StructPlan


MOST_ZEROS: Final = 64 << 20
"""Maximum number of bytes of an answer that are replaced by zeros: more than a Fetch returns by default (55
MiB).
"""


def read_request(request: bytes, head: RequestHead) -> Message | None:
    """Return the message in a request; None if the request was not recorded whole."""
    if head.key is None or not head.body_at:
        return None
    return _decoded(request_class(head.key), head.version, request, head.body_at)


def read_response(answer: Sequence[Kept], head: RequestHead) -> Message | None:
    """Return the message in an answer; None if the answer was not recorded. Bytes of records that were not
    recorded are zeros, at most `MOST_ZEROS`.
    """
    if head.key is None or not answer:
        return None
    if sum(kept for kept in answer if isinstance(kept, int)) > MOST_ZEROS:
        return None
    frame = b"".join(bytes(kept) for kept in answer)
    version = head.version
    if head.key is ApiKey.API_VERSIONS and int.from_bytes(frame[8:10], "big"):
        version = 0  # an unknown version is answered in the form of the first one
    if version not in API_FACTS[head.key].versions:
        return None
    return _decoded(response_class(head.key), version, frame, response_body_at(head.key, version))


def _decoded(cls: type[Message], version: int, frame: bytes, body_at: int) -> Message | None:
    try:
        return decoder(cls, version)(memoryview(frame), body_at)[0]
    except (ProtocolViolation, StructError):
        return None


def as_values(message: Message, version: int) -> dict[str, Any]:
    """Return the fields of a message at its version as plain values, with its records decoded.

    Uuids are in Kafka's text form. A `records` field is a list of batches, each with the fields of its header
    and its `records`; if the records were not recorded or are damaged, a batch has `problem` instead.
    """
    return _struct(_plan(type(message), version), message)


_plan = cache(plan_message)


def _struct(plan: StructPlan, value: Any) -> dict[str, Any]:
    return {field.name: _field(field, getattr(value, field.name)) for field in plan.fields if field.present}


def _field(field: FieldPlan, value: Any) -> Any:
    if value is None:
        return None
    if field.element is not None:
        element = field.element
        return [_struct(element, each) for each in value] if field.array else _struct(element, value)
    if field.kind == "records":
        return batches_in(bytes(value))
    if field.kind == "uuid":
        return [uuid_to_text(bytes(each)) for each in value] if field.array else uuid_to_text(bytes(value))
    return bytes(value) if isinstance(value, memoryview) else value


def batches_in(data: bytes) -> list[dict[str, Any]]:
    """Return the batches, or messages of the old formats, in the value of a `records` field."""
    if len(data) > MAGIC_AT and data[MAGIC_AT] < MAGIC and any(data):
        return _old_messages(data)
    view = memoryview(data)
    found: list[dict[str, Any]] = []
    end = 0
    for position, header in iter_headers(view):
        end = position + header.size
        batch = {name: getattr(header, name) for name in header.__struct_fields__}
        try:
            batch["records"] = [
                {"offset": each.offset, "timestamp": each.timestamp, "key": each.key, "value": each.value,
                 "headers": list(each.headers)}
                for each in read_records(view[position:end])
            ]  # fmt: skip
        except RecordsDamaged as damage:
            batch["problem"] = str(damage)
        found.append(batch)
    if end < len(data):
        found.append({"problem": f"{len(data) - end} bytes that were not recorded or are no batch"})
    return found


def _old_messages(data: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    try:
        for outer in shallow_messages(data):
            inner = inner_messages(outer) if outer.codec else [outer]
            found += [
                {"magic": each.magic, "offset": each.offset, "timestamp": each.timestamp, "key": each.key,
                 "value": each.value}
                for each in inner
            ]  # fmt: skip
    except RecordsDamaged as damage:
        found.append({"problem": str(damage)})
    return found
