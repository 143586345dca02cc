"""Compiler of (message class, version) to a function that decodes it.

The function has everything inline: one `struct` call for each run of fixed-width fields (with the length that
follows it), a loop for each array, a branch for each nullable field. Every length is compared with the bytes
left before it is used, so the memory that a message can make us allocate is bounded by its size.
"""

from __future__ import annotations

import struct
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

from kcompat.protocol.plan import FIXED, plan_message
from kcompat.protocol.reading import (
    SHORT_BYTES,
    bad_count,
    bad_length,
    bad_tag,
    read_compact_text,
    read_text,
    read_uvarint,
    skip_tags,
    too_many_tags,
    too_many_values,
)
from kcompat.protocol.schema import MAX_UNKNOWN_TAGS, MAX_VALUES, ProtocolViolation
from kcompat.protocol.source import Source, literal

if TYPE_CHECKING:
    from kcompat.protocol.plan import FieldPlan, StructPlan
    from kcompat.protocol.schema import Decoder, M

SMALL_ARRAY: Final = 16
"""Arrays shorter than this are read with a `struct` call prepared for their length."""


def compile_decoder(cls: type[M], version: int) -> Decoder[M]:
    """Compile the decoder of one version of a message. Raises ValueError if there is no such version."""
    decode: Decoder[M] = _DecoderSource(plan_message(cls, version), f"{cls.__name__} v{version}").compile()
    return decode


def small_unpackers(code: str) -> list[Any]:
    """Return the `unpack_from` functions for short arrays, indexed by the number of values."""
    return [struct.Struct(f">{n}{code}").unpack_from for n in range(SMALL_ARRAY)]


_NAMES: Final = {
    "ProtocolViolation": ProtocolViolation,
    "StructError": struct.error,
    "unpack_from": struct.unpack_from,
    "uvarint": read_uvarint,
    "compact_text": read_compact_text,
    "text": read_text,
    "SHORT_BYTES": SHORT_BYTES,
    "RANGES": [range(n) for n in range(SMALL_ARRAY)],
    "skip_tags": skip_tags,
    "bad_length": bad_length,
    "bad_count": bad_count,
    "too_many_values": too_many_values,
    "too_many_tags": too_many_tags,
    "bad_tag": bad_tag,
    "MAX_VALUES": MAX_VALUES,
}


class _DecoderSource:
    """Generator of the source of one decoder.

    `_run` has fixed-width fields that are not yet in a `struct` call.
    """

    def __init__(self, plan: StructPlan, title: str) -> None:
        self._plan = plan
        self._title = title
        self._source = Source(_NAMES)
        self._run: list[tuple[str, str]] = []

    def compile(self) -> Any:
        out = self._source
        with out.block("def decode(buf, pos, budget=MAX_VALUES):"):
            out.line("limit = len(buf)")
            with out.block("try:"):
                value = self._struct(self._plan)
                self._flush()
                out.line(f"return {value}, pos")
            with out.block("except (IndexError, StructError) as fault:"):
                out.line(f"raise ProtocolViolation('{self._title} is cut short') from fault")
            with out.block("except ProtocolViolation as fault:"):
                out.line(f"raise ProtocolViolation(f'{self._title}: {{fault}}') from fault")
        return out.function("decode")

    def _struct(self, plan: StructPlan) -> str:
        """Write the reading of a struct's fields into locals; return the expression that builds it."""
        values = {field.name: self._field(field) for field in plan.ordered}
        if plan.flexible:
            values |= self._tag_section(plan.tagged)
        arguments: list[str] = []
        used = 0
        for field in plan.fields:
            arguments.append(values.get(field.name) or self._default(field))
            if field.present:
                used = len(arguments)
        return f"{self._source.constant(plan.cls, plan.cls.__name__)}({', '.join(arguments[:used])})"

    def _default(self, field: FieldPlan) -> str:
        if field.default == [] and field.array:
            return "[]"
        if field.fresh_default:
            return f"{self._source.constant(type(field.default), type(field.default).__name__)}()"
        return literal(field.default) or self._source.constant(field.default, "default")

    def _flush(self) -> None:
        """Write the `struct` call of the pending run."""
        if not self._run:
            return
        codes = "".join(code for code, _ in self._run)
        names = ", ".join(name for _, name in self._run)
        self._run.clear()
        if codes == "B":
            self._source.line(f"{names} = buf[pos]")
            self._source.line("pos += 1")
            return
        call, size = self._source.codec(codes, "unpack_from")
        self._source.line(f"{names}{',' if ',' not in names else ''} = {call}(buf, pos)")
        self._source.line(f"pos += {size}")

    def _fixed(self, code: str, stem: str) -> str:
        name = self._source.fresh(stem)
        self._run.append((code, name))
        return name

    def _uvarint(self, stem: str) -> str:
        """Write the reading of an unsigned varint, whose first byte belongs to the pending run."""
        name = self._fixed("B", stem)
        self._flush()
        with self._source.block(f"if {name} > 127:"):
            self._source.line(f"{name}, pos = uvarint(buf, pos - 1)")
        return name

    def _field(self, field: FieldPlan) -> str:
        """Write the reading of one field; return the expression of its value."""
        if field.array:
            return self._array(field)
        if field.element is not None:
            return self._maybe_struct(field, field.element)
        if field.kind in FIXED:
            return self._fixed(FIXED[field.kind][0], field.name)
        return self._text(field, field.nullable) if field.kind == "string" else self._bytes(field)

    def _maybe_struct(self, field: FieldPlan, plan: StructPlan) -> str:
        if not field.nullable:
            return self._struct(plan)
        out = self._source
        value = out.fresh(field.name)
        mark = self._fixed("b", "mark")
        self._flush()
        null = "< 0" if field.tag is None else "== 0"  # in the tag section it is a varint
        with out.block(f"if {mark} {null}:"):
            out.line(f"{value} = None")
        with out.block("else:"):
            built = self._struct(plan)
            self._flush()
            out.line(f"{value} = {built}")
        return value

    def _length(self, field: FieldPlan) -> tuple[str, str]:
        """Write the reading of a length; return its name, and the condition under which it means null."""
        if field.compact:
            length = self._uvarint("length")
            return length, f"not {length}"
        length = self._fixed("i", "length")
        self._flush()
        return length, f"{length} < 0"

    def _text(self, field: FieldPlan, nullable: bool) -> str:
        """Write the reading of a string; a short one is read by a prepared `struct` call, which checks the
        end.
        """
        out = self._source
        value = out.fresh(field.name)
        length = self._fixed("B" if field.compact else "h", "length")
        self._flush()
        if nullable:
            with out.block(f"if {'not ' * field.compact}{length}{' < 0' * (not field.compact)}:"):
                out.line(f"{value} = None")
        lowest = "0 <" if field.compact else "0 <="
        with out.block(f"elif {length} < 128:" if nullable else f"if {lowest} {length} < 128:"):
            if field.compact:
                out.line(f"{length} -= 1")
            out.line(f"{value} = SHORT_BYTES[{length}](buf, pos)[0].decode('utf-8', 'replace')")
            out.line(f"pos += {length}")
        with out.block("else:"):
            call = f"text(buf, pos, {length})"
            if field.compact:
                call = f"compact_text(buf, pos - 1, {nullable})"
            out.line(f"{value}, pos = {call}")
        return value

    def _bytes(self, field: FieldPlan) -> str:
        """Write the reading of bytes, which are copied, or of records, which stay a slice of the frame."""
        out = self._source
        value = out.fresh(field.name)
        length, is_null = self._length(field)
        if field.nullable:
            with out.block(f"if {is_null}:"):
                out.line(f"{value} = None")
        with out.block("else:") if field.nullable else nullcontext():
            out.line(f"end = pos + {length}{' - 1' * field.compact}")
            with out.block("if not pos <= end <= limit:"):
                out.line(f"bad_length({length})")
            out.line(f"{value} = {'buf[pos:end]' if field.kind == 'records' else 'bytes(buf[pos:end])'}")
            out.line("pos = end")
        return value

    def _array(self, field: FieldPlan) -> str:
        out = self._source
        value = out.fresh(field.name)
        count, is_null = self._length(field)
        if field.nullable:
            with out.block(f"if {is_null}:"):
                out.line(f"{value} = None")
        with out.block("else:") if field.nullable else nullcontext():
            if field.compact:
                out.line(f"{count} -= 1")
            with out.block(f"if not 0 <= {count} * {field.element_min_size} <= limit - pos:"):
                out.line(f"bad_count({count})")
            weight = len(field.element.fields) if field.element else 1
            out.line(f"budget -= {count}{f' * {weight}' if weight > 1 else ''}")
            with out.block("if budget < 0:"):
                out.line("too_many_values()")
            self._elements(field, value, count)
        return value

    def _elements(self, field: FieldPlan, value: str, count: str) -> None:
        out = self._source
        if field.kind == "uuid":
            out.line(f"end = pos + {count} * 16")
            out.line(f"{value} = [bytes(buf[at : at + 16]) for at in range(pos, end, 16)]")
            out.line("pos = end")
            return
        if field.kind in FIXED:
            code, size = FIXED[field.kind]
            table = f"unpack_{code}"
            out.names.setdefault(table, small_unpackers(code))
            many = f"unpack_from(f'>{{{count}}}{code}', buf, pos)"
            out.line(f"{value} = list({table}[{count}](buf, pos) if {count} < {SMALL_ARRAY} else {many})")
            out.line(f"pos += {count}{f' * {size}' if size > 1 else ''}")
            return
        out.line(f"{value} = []")
        with out.block(f"for _ in RANGES[{count}] if {count} < {SMALL_ARRAY} else range({count}):"):
            element = self._struct(field.element) if field.element else self._text(field, nullable=False)
            self._flush()
            out.line(f"{value}.append({element})")

    def _tag_section(self, tagged: list[FieldPlan]) -> dict[str, str]:
        """Write the reading of a struct's tag section; return the locals of the tagged fields."""
        out = self._source
        names = {field.name: out.fresh(field.name) for field in tagged}
        count = self._fixed("B", "tags")
        self._flush()
        for field in tagged:
            out.line(f"{names[field.name]} = {self._default(field)}")
        with out.block(f"if {count}:"):
            if tagged:
                self._known_tags(tagged, names, count)
            else:
                out.line("pos = skip_tags(buf, pos - 1)")
        return names

    def _known_tags(self, tagged: list[FieldPlan], names: dict[str, str], count: str) -> None:
        out = self._source
        unknown, tag_end = out.fresh("unknown"), out.fresh("end")
        out.line(f"{count}, pos = uvarint(buf, pos - 1)")
        with out.block(f"if {count} * 2 > limit - pos:"):
            out.line(f"too_many_tags({count})")
        out.line(f"{unknown} = 0")
        with out.block(f"for _ in range({count}):"):
            tag, size = self._uvarint("tag"), self._uvarint("size")
            out.line(f"{tag_end} = pos + {size}")
            with out.block(f"if {tag_end} > limit:"):
                out.line(f"bad_length({size})")
            for field in tagged:
                with out.block(f"{'if' if field is tagged[0] else 'elif'} {tag} == {field.tag}:"):
                    value = self._field(field)
                    self._flush()
                    out.line(f"{names[field.name]} = {value}")
            with out.block("else:"):
                out.line(f"{unknown} += 1")
                with out.block(f"if {unknown} > {MAX_UNKNOWN_TAGS}:"):
                    out.line(f"too_many_tags({count})")
                out.line(f"pos = {tag_end}")
            with out.block(f"if pos != {tag_end}:"):
                out.line(f"bad_tag({tag})")
