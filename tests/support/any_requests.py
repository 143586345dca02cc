"""Requests of any API and version with several elements, and the error codes in responses."""

from __future__ import annotations

from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.protocol.plan import FieldPlan, StructPlan


class AnyRequests:
    """Requests with arrays of some elements, and a name of its own for each element."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._numbers = count(1)

    def make(self, plan: StructPlan) -> Any:
        fields = [field for field in plan.fields if field.present and (field.array or not field.element)]
        return plan.cls(**{field.name: self._value(field) for field in fields})

    def _value(self, field: FieldPlan) -> Any:
        if field.array:
            return [self._one(field) for _ in range(self._random.randint(1, 3))]
        return self._one(field)

    def _one(self, field: FieldPlan) -> Any:
        if field.element is not None:
            return self.make(field.element)
        number = next(self._numbers)
        others = {
            "string": f"name-{number}",
            "uuid": number.to_bytes(16, "big"),
            "bytes": b"bytes",
            "records": b"",
            "bool": True,
            "float64": 0.5,
            "int8": number % 100,
        }
        return others.get(field.kind, number)


def errors_in(struct: Any, plan: StructPlan) -> Iterator[int]:
    """The error codes that are set in a struct."""
    for field in plan.fields:
        value = getattr(struct, field.name)
        if field.name in ("error_code", "partition_error_code") and value:
            yield value
        elif field.present and field.array and field.element is not None:
            for element in value or ():
                yield from errors_in(element, field.element)
