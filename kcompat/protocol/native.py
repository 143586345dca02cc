"""Encoders and decoders by the native codec. The import raises ImportError where it was not built."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from kcompat.protocol._native import Codec, read_request_header
from kcompat.protocol.plan import plan_message

if TYPE_CHECKING:
    from kcompat.protocol.plan import FieldPlan, StructPlan
    from kcompat.protocol.schema import Decoder, Encoder, Framer, M

__all__ = ["compile_decoder", "compile_encoder", "compile_framer", "read_request_header"]


def compile_decoder(cls: type[M], version: int) -> Decoder[M]:
    """Return the decoder of one version of a message. Raises ValueError if there is no such version."""
    return _codec(cls, version).decode


def compile_encoder(cls: type[M], version: int) -> Encoder[M]:
    """Return the encoder of one version of a message. Raises ValueError if there is no such version."""
    return _codec(cls, version).encode


def compile_framer(cls: type[M], version: int) -> Framer[M]:
    """Return the encoder of whole response frames. Raises ValueError if there is no such version."""
    return _codec(cls, version).frame


@cache
def _codec(cls: type[Any], version: int) -> Codec:
    return Codec(f"{cls.__name__} v{version}", _program(plan_message(cls, version)))


def _program(plan: StructPlan) -> tuple[Any, ...]:
    """Return a plan in the form of `_program.h`: class, whether it is flexible, fields, and the tagged fields
    by tag.
    """
    tagged = tuple(plan.fields.index(field) for field in plan.tagged)
    return plan.cls, plan.flexible, tuple(map(_field, plan.fields)), tagged


def _field(field: FieldPlan) -> tuple[Any, ...]:
    return (
        field.name,
        field.kind,
        field.array,
        _program(field.element) if field.element else None,
        field.element_min_size if field.array and field.present else 0,
        field.present,
        field.nullable,
        field.compact,
        -1 if field.tag is None else field.tag,
        field.ignorable,
        field.default,
        field.default_is_empty,
        type(field.default) if field.fresh_default else None,
    )
