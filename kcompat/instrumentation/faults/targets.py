"""The topics and partitions that requests and responses name: finding them, splitting a message by them, and
merging the parts.

Every message names them in arrays, which are recognized by their names; the fields come from the
declarations, so all versions are covered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from kcompat.instrumentation.faults.error_responses import NOTHING, keys_of, row_arrays

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kcompat.protocol.plan import FieldPlan, StructPlan

    Chosen = Callable[["str | bytes", "int | None"], bool]
    """Function that returns whether a topic (its name or id) and partition is selected; the partition is None
    for elements about a topic as a whole.
    """

_TOPIC_ARRAYS: Final = frozenset(
    {
        "replica_election_results",
        "responses",
        "results",
        "results_by_topic_v3_and_below",
        "topic_data",
        "topic_names",
        "topic_partitions",
        "topic_results",
        "topics",
        "v3_and_below_topics",
    }
)
_PARTITION_ARRAYS: Final = frozenset(
    {
        "partition_data",
        "partition_indexes",
        "partition_responses",
        "partition_result",
        "partitions",
        "results_by_partition",
    }
)
_TOPIC_FIELDS: Final = frozenset({"name", "topic", "topic_id", "topic_name"})
_OUTER_ARRAYS: Final = frozenset({"dirs", "groups", "markers", "results_by_transaction", "transactions"})
"""Arrays whose elements have topics."""


def names_topics(plan: StructPlan) -> bool:
    """Return whether a message is about topics."""
    return any(_is_topics(field) or names_topics(element) for field, element in _outer_arrays(plan))


def names_partitions(plan: StructPlan) -> bool:
    """Return whether a message is about partitions of topics."""
    return any(
        any(map(_is_partitions, _arrays(element))) if _is_topics(field) else names_partitions(element)
        for field, element in _outer_arrays(plan)
    )


def has_errors_of_topics(plan: StructPlan) -> bool:
    """Return whether a response can carry the error of one topic or partition among others."""
    outer = {field.name for field, _ in _outer_arrays(plan)}
    return any(
        field.name in outer and (_is_topics(field) or has_errors_of_topics(field.element or NOTHING))
        for field in row_arrays(plan)
    )


def targets(message: Any, plan: StructPlan) -> Iterator[tuple[str | bytes, int | None]]:
    """Return the topics, by name or id, and partitions that a message is about."""
    found: list[tuple[str | bytes, int | None]] = []

    def note(topic: str | bytes, partition: int | None) -> bool:
        found.append((topic, partition))
        return False

    split(message, plan, note)
    return iter(found)


def means_all(message: Any, plan: StructPlan) -> bool:
    """Return whether a request is about all topics, because it has no list of them."""
    return any(
        getattr(message, field.name) is None
        if _is_topics(field)
        else any(means_all(each, element) for each in getattr(message, field.name) or ())
        for field, element in _outer_arrays(plan)
    )


def split(
    message: Any, plan: StructPlan, chosen: Chosen, *, by_topic: bool = False
) -> tuple[Any | None, Any]:
    """Return a message with the chosen elements, or None if there are none, and a message with the others.
    With `by_topic`, whole topics are chosen.
    """
    hit, rest = _split(message, plan, chosen, None, by_topic=by_topic)
    if rest is None:
        rest = _with_arrays(message, {field.name: [] for field, _ in _outer_arrays(plan)})
    return hit, rest


def without_partitions(message: Any, plan: StructPlan) -> Any:
    """Return a message whose topics have no partitions."""
    return _with_arrays(
        message,
        {
            field.name: [
                _with_arrays(each, {inner.name: [] for inner in _arrays(element) if _is_partitions(inner)})
                for each in getattr(message, field.name) or ()
            ]
            for field, element in _outer_arrays(plan)
            if _is_topics(field) and field.element is not None
        },
    )


def merge(response: Any, more: Any, plan: StructPlan) -> None:
    """Add the rows of one response to another; rows of one topic are joined."""
    for field in row_arrays(plan):
        row_plan = field.element or NOTHING
        rows = getattr(response, field.name)
        if not rows:
            setattr(response, field.name, rows := [])
        for row in getattr(more, field.name) or ():
            keys = keys_of(row, row_plan)
            same = next((each for each in rows if keys and keys_of(each, row_plan) == keys), None)
            if same is None or not row_arrays(row_plan):
                rows.append(row)
            else:
                merge(same, row, row_plan)


def _split(
    struct: Any, plan: StructPlan, chosen: Chosen, topic: str | bytes | None, *, by_topic: bool = False
) -> tuple[Any, Any]:
    """Split a struct, of `topic` if it is one; see `split`."""
    hits: dict[str, list[Any]] = {}
    rests: dict[str, list[Any]] = {}
    if topic is None:
        fields = [field for field, _ in _outer_arrays(plan)]
    else:
        fields = [field for field in _arrays(plan) if _is_partitions(field)]
    for field in fields:
        pairs = [
            _split_element(each, field, chosen, topic, by_topic) for each in getattr(struct, field.name) or ()
        ]
        hits[field.name] = [hit for hit, _ in pairs if hit is not None]
        rests[field.name] = [rest for _, rest in pairs if rest is not None]
    if not any(hits.values()):
        return None, struct
    return _with_arrays(struct, hits), _with_arrays(struct, rests) if any(rests.values()) else None


def _split_element(
    element: Any, field: FieldPlan, chosen: Chosen, topic: str | bytes | None, by_topic: bool
) -> tuple[Any, Any]:
    plan = field.element
    if topic is not None:
        is_hit = chosen(topic, element if plan is None else keys_of(element, plan)["partition"])
    elif not _is_topics(field):
        return _split(element, plan or NOTHING, chosen, None, by_topic=by_topic)
    else:
        keys = {"name": element} if plan is None else keys_of(element, plan)
        name = keys.get("name") or keys.get("topic_id") or ""
        if not by_topic and plan is not None and any(map(_is_partitions, _arrays(plan))):
            return _split(element, plan, chosen, name)
        is_hit = chosen(name, None)
    return (element, None) if is_hit else (None, element)


def _with_arrays(struct: Any, arrays: dict[str, list[Any]]) -> Any:
    return msgspec.structs.replace(struct, **arrays)


def _arrays(plan: StructPlan) -> Iterator[FieldPlan]:
    return (field for field in plan.fields if field.present and field.array)


def _outer_arrays(plan: StructPlan) -> Iterator[tuple[FieldPlan, StructPlan]]:
    """Return the arrays whose elements are topics or contain topics, with the plan of their elements."""
    for field in _arrays(plan):
        if _is_topics(field) or field.name in _OUTER_ARRAYS:
            yield field, field.element or NOTHING


def _is_topics(field: FieldPlan) -> bool:
    if field.element is None:
        return field.name == "topic_names"
    return field.name in _TOPIC_ARRAYS and any(
        each.present and each.name in _TOPIC_FIELDS for each in field.element.fields
    )


def _is_partitions(field: FieldPlan) -> bool:
    return field.name in _PARTITION_ARRAYS
