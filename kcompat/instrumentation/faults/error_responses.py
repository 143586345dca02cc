"""Responses that carry an error, built from the declarations of the messages for every API and version.

The counterpart of `AbstractRequest.getErrorResponse` in Kafka. The response has a row for each element of the
request, such as a partition, if its rows have error codes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kcompat.protocol.api_keys import ApiKey, request_class, response_class
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.plan import plan_message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.protocol.plan import FieldPlan, StructPlan

Keys = dict[str, Any]
"""Names of one element of a message: values by the meaning of the field, such as `partition`."""

_IDEAS: Final = {
    **dict.fromkeys(("name", "topic", "topic_name", "topic_names", "user"), "name"),
    **dict.fromkeys(("partition", "partitions", "partition_id", "index"), "partition"),
    **dict.fromkeys(("partition_index", "partition_indexes"), "partition"),
    **dict.fromkeys(("group_id", "group_ids", "groups", "groups_names"), "group"),
    **dict.fromkeys(("key", "coordinator_keys"), "key"),
    **dict.fromkeys(("transactional_id", "transactional_ids"), "transactional_id"),
    **dict.fromkeys(("entity", "feature", "group_instance_id", "member_id", "producer_id"), ""),
    **dict.fromkeys(("resource_name", "resource_type", "topic_id"), ""),
}
"""The meaning of each field that names an element; an empty text stands for the name of the field."""
_POSITIONAL: Final = {"results": "creations", "filter_results": "filters"}
"""Arrays of responses whose rows have no names: they belong to the elements of this array of the request."""
_ERROR_FIELDS: Final = ("error_code", "partition_error_code")
_UNKNOWN: Final = {
    ApiKey.DELETE_RECORDS: ("low_watermark",),
    ApiKey.FETCH: ("high_watermark",),
    ApiKey.FIND_COORDINATOR: ("node_id", "port"),
    ApiKey.INIT_PRODUCER_ID: ("producer_epoch",),
    ApiKey.OFFSET_FETCH: ("committed_offset",),
    ApiKey.PRODUCE: ("base_offset",),
}
"""Fields without a default in Kafka's schemas, which Kafka sets to -1 in responses with an error."""
_NULL: Final = {ApiKey.DESCRIBE_CLIENT_QUOTAS: "entries", ApiKey.JOIN_GROUP: "protocol_name"}
"""Field that is null in responses with an error, in versions that allow null."""
_IN_BOTH: Final = {
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: range(2),
    ApiKey.ELECT_LEADERS: range(3),
    ApiKey.FETCH: range(13),
    ApiKey.LEADER_AND_ISR: range(8),
    ApiKey.METADATA: range(13, 14),
    ApiKey.STOP_REPLICA: range(5),
}
"""Versions in which an error of the whole request is repeated in the rows."""

OF_PARTITIONS: Final = frozenset(
    {
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
    }
)
"""Errors that brokers report for a topic or a partition. Other errors are reported once, for the whole
request, if the response has a field for that.
"""
_OF_MEMBERS: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID})


def is_of_rows(key: ApiKey, error: ErrorCode) -> bool:
    """Return whether brokers report an error in the rows of a response, not for the request as a whole."""
    return error in OF_PARTITIONS or (key is ApiKey.LEAVE_GROUP and error in _OF_MEMBERS)


def error_response(
    key: ApiKey,
    version: int,
    request: Any,
    error: ErrorCode,
    *,
    in_rows: bool,
    plan: StructPlan | None = None,
) -> Any:
    """Return the response to a request that fails with an error, in the rows or for the request as a whole.

    If this version of the response has no field at the wanted place, the error is at the other place, or else
    left out, as in Kafka. `request` may also be another struct with the same elements, such as a response,
    with its `plan`.
    """
    plan = plan or plan_message(request_class(key), version)
    response_plan = plan_message(response_class(key), version)
    is_in_both = not in_rows and version in _IN_BOTH.get(key, ())
    builder = _Builder(key, error, in_rows=in_rows or is_in_both)
    response = builder.new(response_plan)
    builder.fill(request, plan, response, response_plan)
    own = _error_field(response_plan)
    if is_in_both and own is not None:
        _set_error(response, response_plan, own, error)
    if key is ApiKey.FETCH:
        response.session_id = request.session_id
    return response


def has_place_for_error(plan: StructPlan) -> bool:
    """Return whether a struct of a response, or one below it, has an error code."""
    return _error_field(plan) is not None or any(_has_errors(field) for field in plan.fields)


def row_arrays(plan: StructPlan) -> list[FieldPlan]:
    """Return the arrays of a response whose rows have error codes."""
    return [field for field in plan.fields if field.array and _has_errors(field)]


def keys_of(struct: Any, plan: StructPlan) -> Keys:
    """Return the values that name an element of a message."""
    found: Keys = {}
    for field in plan.fields:
        idea = _idea(field)
        if idea and field.present and (not field.array or idea == "entity"):
            found[idea] = getattr(struct, field.name)
    return found


class _Builder:
    """Builder of one response with an error."""

    def __init__(self, key: ApiKey, error: ErrorCode, *, in_rows: bool) -> None:
        self._unknown = _UNKNOWN.get(key, ())
        self._null = _NULL.get(key)
        self._error = error
        self._in_rows = in_rows

    def new(self, plan: StructPlan) -> Any:
        """Return a struct of the response with default values."""
        struct = plan.cls()
        for field in plan.fields:
            if field.present and field.name in self._unknown:
                setattr(struct, field.name, -1)
            elif field.present and field.name == self._null and field.nullable:
                setattr(struct, field.name, None)
            elif field.present and field.kind == "records":
                setattr(struct, field.name, b"")
        return struct

    def fill(self, request: Any, plan: StructPlan, response: Any, response_plan: StructPlan) -> bool:
        """Write the error into a struct of the response; return False if the struct has no field for it."""
        own = _error_field(response_plan)
        if own is not None and not self._in_rows:
            _set_error(response, response_plan, own, self._error)
            return True
        is_set = False
        for field in row_arrays(response_plan):
            rows = list(self._rows(request, plan, field))
            setattr(response, field.name, rows)
            is_set = is_set or bool(rows)
        if own is not None and not is_set:
            _set_error(response, response_plan, own, self._error)
            is_set = True
        return is_set

    def _rows(self, request: Any, plan: StructPlan, field: FieldPlan) -> Iterator[Any]:
        """Return a row with the error for each element of the request that the response array has a row
        for.
        """
        row_plan = field.element
        assert row_plan is not None
        naming = [each for each in row_plan.fields if each.present and _idea(each) and _names_row(each)]
        seen: list[Keys] = []
        for keys, element, element_plan in _elements(request, plan, field.name, set(map(_idea, naming)), {}):
            if keys and keys in seen:
                continue
            seen.append(keys)
            row = self.new(row_plan)
            for each in naming:
                if _idea(each) in keys:
                    setattr(row, each.name, _copied(keys[_idea(each)], each))
            if self.fill(element, element_plan, row, row_plan):
                yield row


def _elements(
    struct: Any, plan: StructPlan, array: str, ideas: set[str], known: Keys
) -> Iterator[tuple[Keys, Any, StructPlan]]:
    """Return the elements of a request that `ideas` name, with these names.

    `known` are the names from the structs around `struct`: some responses have one flat array for nested
    ones of the request.
    """
    for field in plan.fields:
        if not field.present or not field.array or field.name.startswith("forgotten"):
            continue
        values = getattr(struct, field.name) or ()
        if field.element is None:
            if _idea(field) in ideas - known.keys():
                yield from (({**known, _idea(field): value}, None, NOTHING) for value in values)
            continue
        is_positional = _POSITIONAL.get(array) == field.name
        for element in values:
            names = {idea: value for idea, value in keys_of(element, field.element).items() if idea in ideas}
            keys = known | names
            missing = ideas - keys.keys()
            deeper = list(_elements(element, field.element, array, missing, keys)) if missing else []
            if deeper:
                yield from deeper
            elif is_positional:
                yield {}, element, field.element
            elif names:
                yield keys, element, field.element


def _set_error(struct: Any, plan: StructPlan, field: FieldPlan, error: ErrorCode) -> None:
    setattr(struct, field.name, int(error))
    for each in plan.fields:
        if each.present and each.name == "error_message":
            struct.error_message = error.message


def _copied(value: Any, field: FieldPlan) -> Any:
    """Return a value of the request for a field of the response, whose structs are of another class."""
    if field.element is None:
        return value
    return [
        field.element.cls(**{each.name: getattr(item, each.name) for each in field.element.fields})
        for item in value
    ]


def _names_row(field: FieldPlan) -> bool:
    return not field.array or field.name == "entity"


def _idea(field: FieldPlan) -> str:
    return (_IDEAS[field.name] or field.name) if field.name in _IDEAS else ""


def _error_field(plan: StructPlan) -> FieldPlan | None:
    return next((field for field in plan.fields if field.present and field.name in _ERROR_FIELDS), None)


def _has_errors(field: FieldPlan) -> bool:
    return field.present and field.element is not None and field.array and has_place_for_error(field.element)


class _Nothing:
    """A plan without fields, for elements that are not structs."""

    fields: tuple[FieldPlan, ...] = ()


NOTHING: Final[Any] = _Nothing()
