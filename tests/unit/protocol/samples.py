"""One message of each kind with every field filled, so that each byte of its wire form matters."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

import kcompat.protocol.messages
from kcompat.protocol.plan import plan_message
from kcompat.protocol.schema import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.protocol.plan import FieldPlan, StructPlan

VALUES = {
    "bool": True,
    "float64": 1.5,
    "string": "name",
    "bytes": b"data",
    "records": b"batch",
    "uuid": b"u" * 16,
}


def message_classes() -> Iterator[type[Message]]:
    """Every declared message."""
    package = kcompat.protocol.messages
    for info in pkgutil.iter_modules(package.__path__):
        for value in vars(importlib.import_module(f"{package.__name__}.{info.name}")).values():
            if isinstance(value, type) and issubclass(value, Message) and value is not Message:
                yield value


def sample(cls: type[Message], version: int) -> Any:
    """The message with all that a version can carry, one element in each array."""
    return _struct(plan_message(cls, version))


def _struct(plan: StructPlan) -> Any:
    return plan.cls(**{field.name: _field(field) for field in plan.fields if field.present})


def _field(field: FieldPlan) -> Any:
    value = _struct(field.element) if field.element else VALUES.get(field.kind, 7)
    return [value] if field.array else value
