"""A message class at one version: its declaration resolved for the code generators."""

from __future__ import annotations

import inspect
import types
import typing
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kcompat.protocol.schema import Wire, version_range

if TYPE_CHECKING:
    from kcompat.protocol.schema import Declaration

FIXED: Final = {
    "bool": ("?", 1),
    "int8": ("b", 1),
    "int16": ("h", 2),
    "uint16": ("H", 2),
    "int32": ("i", 4),
    "uint32": ("I", 4),
    "int64": ("q", 8),
    "float64": ("d", 8),
    "uuid": ("16s", 16),
}
"""Types of fixed size: their `struct` code and size in bytes."""


class FieldPlan(msgspec.Struct, frozen=True):
    """One field at one version. `compact` is the KIP-482 form of lengths; `present` fields are sent."""

    name: str
    kind: str
    array: bool
    element: StructPlan | None
    present: bool
    nullable: bool
    compact: bool
    tag: int | None
    ignorable: bool
    default: Any
    fresh_default: bool

    @property
    def default_is_empty(self) -> bool:
        """Whether the default is false or empty, so that a value's truth tells whether it is the default."""
        return self.default is False or self.default in ([], "", b"")

    @property
    def min_size(self) -> int:
        """Minimum number of bytes that the field takes; for an array, a string or bytes, those of the length
        prefix alone.
        """
        if self.array or (self.kind in ("bytes", "records")):
            return 1 if self.compact else 4
        if self.kind == "string":
            return 1 if self.compact else 2
        return 1 if self.nullable else self.element_min_size

    @property
    def element_min_size(self) -> int:
        """Minimum number of bytes of one element of the array, or of the field if it is not an array."""
        if self.element is not None:
            return self.element.min_size
        if self.kind == "string":
            return 1 if self.compact else 2
        return FIXED[self.kind][1]


class StructPlan(msgspec.Struct, frozen=True):
    """A struct at one version: all fields of the class in declared order."""

    cls: type[msgspec.Struct]
    fields: tuple[FieldPlan, ...]
    flexible: bool

    @property
    def ordered(self) -> list[FieldPlan]:
        """The fields on the wire outside the tag section, in wire order."""
        return [field for field in self.fields if field.present and field.tag is None]

    @property
    def tagged(self) -> list[FieldPlan]:
        """The fields of the tag section, by tag."""
        found = [field for field in self.fields if field.present and field.tag is not None]
        return sorted(found, key=lambda field: field.tag or 0)

    @property
    def absent(self) -> list[FieldPlan]:
        """The fields that this version does not have."""
        return [field for field in self.fields if not field.present]

    @property
    def min_size(self) -> int:
        """Minimum number of bytes that the struct takes; never 0, so that the bytes left bound an array's
        length.
        """
        return max(1, sum(field.min_size for field in self.ordered) + self.flexible)


def plan_message(cls: type[Declaration], version: int) -> StructPlan:
    """Resolve a message at a version. Raises ValueError if the message has no such version."""
    if version not in cls.versions:
        raise ValueError(f"{cls.__name__} has no version {version}")
    return _plan_struct(cls, version, version in cls.flexible)


class _Declared(msgspec.Struct, frozen=True):
    """The declaration of one field, for all versions of its message."""

    name: str
    wire: Wire
    array: bool
    python_type: Any
    default: Any
    fresh_default: bool


@cache
def _declared_fields(cls: type[msgspec.Struct]) -> list[_Declared]:
    """Return the declared fields of a class. Reading annotations is nearly all the cost of a plan, so the
    result is cached.
    """
    hints = inspect.get_annotations(cls, eval_str=True)
    defaults = zip(cls.__struct_fields__, cls.__struct_defaults__, strict=True)
    return [_declared(name, hints[name], default) for name, default in defaults]


def _declared(name: str, hint: Any, default: Any) -> _Declared:
    python_type, wire = typing.get_args(hint)
    assert isinstance(wire, Wire), f"{name} has no wire type"
    if isinstance(python_type, types.UnionType):
        python_type = typing.get_args(python_type)[0]
    array = typing.get_origin(python_type) is list
    if array:
        (python_type,) = typing.get_args(python_type)
    factory = getattr(default, "factory", None)
    return _Declared(
        name, wire, array, python_type, default if factory is None else factory(), factory is not None
    )


def _plan_struct(cls: type[msgspec.Struct], version: int, flexible: bool) -> StructPlan:
    fields = tuple(_plan_field(declared, version, flexible) for declared in _declared_fields(cls))
    return StructPlan(cls, fields, flexible)


def _plan_field(declared: _Declared, version: int, flexible: bool) -> FieldPlan:
    wire = declared.wire
    present = version in version_range(wire.versions)
    # A struct that this version lacks is not resolved: it may be declared for other versions only.
    is_struct = wire.kind == "struct" and present
    return FieldPlan(
        name=declared.name,
        kind=wire.kind,
        array=declared.array,
        element=_plan_struct(declared.python_type, version, flexible) if is_struct else None,
        present=present,
        nullable=version in version_range(wire.nullable),
        compact=flexible and wire.flexible,
        tag=wire.tag,
        ignorable=wire.ignorable,
        default=declared.default,
        fresh_default=declared.fresh_default,
    )
