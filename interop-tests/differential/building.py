"""Requests from plain dictionaries, cut to what a version can carry."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from kcompat.protocol.plan import StructPlan, plan_message

if TYPE_CHECKING:
    from kcompat.protocol.message import Message


def build(cls: type[Message], version: int, values: dict[str, Any]) -> Any:
    """The message with these fields. Those of other versions are left out; unknown ones are an error."""
    return _struct(_plan(cls, version), values)


_plan = cache(plan_message)


def _struct(plan: StructPlan, values: dict[str, Any]) -> Any:
    unknown = values.keys() - {field.name for field in plan.fields}
    assert not unknown, f"{plan.cls.__name__} has no {unknown}"
    taken = {}
    for field in plan.fields:
        if not field.present or field.name not in values:
            continue
        value = values[field.name]
        if field.element is not None and value is not None:
            element = field.element
            value = [_struct(element, item) for item in value] if field.array else _struct(element, value)
        taken[field.name] = value
    return plan.cls(**taken)
