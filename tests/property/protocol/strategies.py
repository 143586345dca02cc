"""Hypothesis strategies for every message at every version, built from the declarations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from kcompat.protocol.plan import plan_message
from support.messages import OF_KCOMPAT

if TYPE_CHECKING:
    from kcompat.protocol.message import Message
    from kcompat.protocol.plan import FieldPlan, StructPlan

INTEGERS = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
TEXT = st.one_of(
    st.sampled_from(["", "topic-1", "x" * 126, "x" * 127, "x" * 128, "gr\u00fc\u00dfe \U0001f600"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)
BYTES = st.one_of(st.sampled_from([b"", b"\0", b"y" * 126, b"y" * 127, b"y" * 16383]), st.binary(max_size=8))


def messages(cls: type[Message], version: int, *, plain: bool = False) -> st.SearchStrategy[Any]:
    """Messages with any value a version can carry.

    With `plain`, only what kio takes: it reads times and error codes into types of its own (its old version
    rounds dates down to seconds), and refuses tagged fields that it does not know.
    """
    return _struct(plan_message(cls, version), plain)


def _struct(plan: StructPlan, plain: bool) -> st.SearchStrategy[Any]:
    left_out = OF_KCOMPAT.get(plan.cls.__name__, []) if plain else []
    fields = {
        field.name: _field(field, plain)
        for field in plan.fields
        if field.present and field.name not in left_out
    }
    return st.builds(plan.cls, **fields)


def _field(field: FieldPlan, plain: bool) -> st.SearchStrategy[Any]:
    value = _struct(field.element, plain) if field.element else _primitive(field, plain)
    if field.array:
        value = st.lists(value, max_size=20 if field.element is None else 2)
    return st.none() | value if field.nullable else value


def _primitive(field: FieldPlan, plain: bool) -> st.SearchStrategy[Any]:
    if plain and "error_code" in field.name:
        return st.integers(0, 100)
    if plain and field.kind == "int64" and ("timestamp" in field.name or "time_ms" in field.name):
        return st.integers(0, 2**31).map(lambda seconds: seconds * 1000)
    if plain and field.kind in ("int32", "int64"):
        return st.integers(0, 2**31 - 1)
    if field.kind in INTEGERS:
        low, high = INTEGERS[field.kind]
        return st.integers(low, high) | st.sampled_from([low, high, 0, 1])
    if field.kind == "bool":
        return st.booleans()
    if field.kind == "float64":
        return st.floats(allow_nan=False, allow_infinity=not plain)
    if field.kind == "uuid":
        return st.binary(min_size=16, max_size=16)
    return TEXT if field.kind == "string" else BYTES
