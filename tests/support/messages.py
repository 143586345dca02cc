"""Every declared message, and one of each with every field filled, so that each byte on the wire matters."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any, Final

import kcompat.protocol.messages
from kcompat.protocol.message import Message
from kcompat.protocol.plan import plan_message

if TYPE_CHECKING:
    from kcompat.protocol.plan import FieldPlan, StructPlan

OF_KCOMPAT: Final = {"UpdateMetadataRequest": ["presumed_dead"]}
"""Tagged fields that Kafka's messages do not have, by struct. Kafka passes over them."""

_VALUES: Final[dict[str, Any]] = {
    "bool": True,
    "float64": 1.5,
    "string": "name",
    "bytes": b"data",
    "records": b"batch",
    "uuid": b"u" * 16,
}


def message_classes() -> list[type[Message]]:
    """Every declared message, by name. This imports all of them."""
    package = kcompat.protocol.messages
    found = []
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        found += [
            value
            for value in vars(module).values()
            if isinstance(value, type) and issubclass(value, Message) and value is not Message
        ]
    return sorted(found, key=lambda cls: cls.__name__)


def sample(cls: type[Message], version: int) -> Any:
    """A message with all that a version can carry, one element in each array; integers are 7."""
    return _struct(plan_message(cls, version))


def _struct(plan: StructPlan) -> Any:
    return plan.cls(**{field.name: _field(field) for field in plan.fields if field.present})


def _field(field: FieldPlan) -> Any:
    value = _struct(field.element) if field.element else _VALUES.get(field.kind, 7)
    return [value] if field.array else value
