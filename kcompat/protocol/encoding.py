"""Compiler of (message class, version) to a function that encodes it.

The function appends byte strings to a list and joins them at the end: one `struct` call for each run of
fixed-width fields (with the length that follows it). A `records` value is not copied: it becomes a separate
item.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final, NoReturn

from kcompat.protocol.plan import FIXED, plan_message
from kcompat.protocol.source import Source, literal

if TYPE_CHECKING:
    from kcompat.protocol.plan import FieldPlan, StructPlan
    from kcompat.protocol.schema import Encoder, Framer, M

SMALL_ARRAY: Final = 16
"""Arrays shorter than this are written with a `struct` call prepared for their length."""


_TWO_BYTES: Final = struct.Struct("BB").pack
_HEADS: Final = (struct.Struct(">ii"), struct.Struct(">iix"))
"""Formats of length and response header, by the header's version."""


def compile_encoder(cls: type[M], version: int) -> Encoder[M]:
    """Compile the encoder of one version of a message. Raises ValueError if there is no such version."""
    encode: Encoder[M] = _EncoderSource(plan_message(cls, version), f"{cls.__name__} v{version}").compile()
    return encode


def compile_framer(cls: type[M], version: int) -> Framer[M]:
    """Compile the encoder of whole response frames. Raises ValueError if there is no such version."""
    encode = compile_encoder(cls, version)

    def frame(response: M, correlation_id: int, header_version: int) -> list[Any]:
        items = encode(response)
        head = _HEADS[header_version]
        items[0] = head.pack(head.size - 4 + sum(map(len, items)), correlation_id) + items[0]
        return items

    return frame


def uvarint(value: int) -> bytes:
    """Encode an unsigned varint."""
    if 128 <= value < 16384:
        return _TWO_BYTES(value & 0x7F | 0x80, value >> 7)
    out = bytearray()
    while value > 127:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def lacks(struct_name: str, field: str) -> NoReturn:
    """Raise ValueError: a field that must not be lost has a value, and this version has no place for it."""
    raise ValueError(f"no place for {struct_name}.{field}")


def check_uuid(value: bytes) -> bytes:
    """Return the 16 bytes of a uuid.

    Raises ValueError for other lengths, which a `struct` call would pad or cut.
    """
    if len(value) != 16:
        raise ValueError(f"a uuid of {len(value)} bytes")
    return value


def small_packers(code: str) -> list[Any]:
    """Return the `pack` functions for short arrays, indexed by the number of values."""
    return [struct.Struct(f">{n}{code}").pack for n in range(SMALL_ARRAY)]


_NAMES: Final = {
    "StructError": struct.error,
    "pack": struct.pack,
    "uvarint": uvarint,
    "lacks": lacks,
    "uuid": check_uuid,
    "BYTE": [bytes([n]) for n in range(128)],
}


def _has_records(plan: StructPlan) -> bool:
    here = (field for field in plan.fields if field.present)
    return any(field.kind == "records" or (field.element and _has_records(field.element)) for field in here)


class _EncoderSource:
    """Generator of the source of one encoder.

    `_run` has fixed-width values that are not yet in a `struct` call.
    """

    def __init__(self, plan: StructPlan, title: str) -> None:
        self._plan = plan
        self._title = title
        self._source = Source(_NAMES)
        self._run: list[tuple[str, str]] = []

    def compile(self) -> Any:
        out = self._source
        has_records = _has_records(self._plan)
        with out.block("def encode(m):"):
            out.line("parts = []")
            out.line("add = parts.append")
            if has_records:
                out.line("items = []")
            with out.block("try:"):
                self._struct(self._plan, "m")
                self._flush()
                if has_records:
                    with out.block("if parts:"):
                        out.line("items.append(b''.join(parts))")
                    out.line("return items")
                else:
                    out.line("return [b''.join(parts)]")
            with out.block("except (AttributeError, TypeError, ValueError, StructError) as fault:"):
                out.line(f"raise ValueError(f'cannot write {self._title}: {{fault}}') from fault")
        return out.function("encode")

    def _struct(self, plan: StructPlan, owner: str) -> None:
        out = self._source
        for field in plan.absent:
            if not field.ignorable:
                with out.block(f"if {self._differs(field, owner)}:"):
                    out.line(f"lacks({plan.cls.__name__!r}, {field.name!r})")
        for field in plan.ordered:
            self._field(field, f"{owner}.{field.name}")
        if plan.flexible:
            self._tag_section(plan.tagged, owner)

    def _differs(self, field: FieldPlan, owner: str) -> str:
        """Return the condition that a field does not have its default."""
        value = f"{owner}.{field.name}"
        default = field.default
        if default is None:
            return f"{value} is not None"
        if field.default_is_empty:
            return f"{value} is None or {value}" if field.nullable else value
        text = literal(default)
        if text is not None:
            return f"{value} != {text}"
        name = self._source.constant(default, "default")
        return f"{value} is not {name} and {value} != {name}"

    def _flush(self) -> None:
        """Write the `struct` call of the pending run. An `x` is a zero byte that takes no value."""
        if not self._run:
            return
        codes = "".join(code for code, _ in self._run)
        values = ", ".join(value for code, value in self._run if code != "x")
        self._run.clear()
        if codes == "x":
            self._source.line("add(b'\\0')")
        else:
            self._source.line(f"add({self._source.codec(codes, 'pack')[0]}({values}))")

    def _length(self, length: str, compact: bool, code: str) -> None:
        """Generate code that writes a length together with the pending fields of fixed width. `length` names
        a local variable, whose value is higher by one in the compact form.
        """
        out = self._source
        if not compact:
            self._run.append((code, length))
            self._flush()
            return
        if not self._run:
            out.line(f"add(BYTE[{length}] if {length} < 128 else uvarint({length}))")
            return
        before = list(self._run)
        with out.block(f"if {length} < 128:"):
            self._run.append(("B", length))
            self._flush()
        with out.block("else:"):
            self._run = before
            self._flush()
            out.line(f"add(uvarint({length}))")

    def _null(self, field: FieldPlan, code: str) -> None:
        self._run.append(("x", "") if field.compact else (code, "-1"))
        self._flush()

    def _field(self, field: FieldPlan, value: str) -> None:
        if field.kind in FIXED and not field.array:
            checked = f"uuid({value})" if field.kind == "uuid" else value
            self._run.append((FIXED[field.kind][0], checked))
            return
        if field.element is not None and not field.array and not field.nullable:
            name = self._source.fresh(field.name)
            self._source.line(f"{name} = {value}")
            self._struct(field.element, name)
            return
        name = self._source.fresh(field.name)
        self._source.line(f"{name} = {value}")
        if field.nullable:
            self._nullable(field, name)
        else:
            self._present(field, name)

    def _nullable(self, field: FieldPlan, name: str) -> None:
        out = self._source
        before = list(self._run)
        with out.block(f"if {name} is None:"):
            if field.element is not None and not field.array:
                self._run.append(("b", "-1" if field.tag is None else "0"))
                self._flush()
            else:
                self._null(field, "h" if field.kind == "string" and not field.array else "i")
        with out.block("else:"):
            self._run = before
            self._present(field, name)
            self._flush()

    def _present(self, field: FieldPlan, name: str) -> None:
        """Write the encoding of a value that is not null and not of fixed width."""
        if field.array:
            self._array(field, name)
        elif field.element is not None:
            self._run.append(("b", "1"))
            self._struct(field.element, name)
        elif field.kind == "records":
            self._records(field, name)
        else:
            self._sized(field, name)

    def _sized(self, field: FieldPlan, name: str) -> None:
        """Write the encoding of a string or bytes."""
        out = self._source
        if field.kind == "string":
            out.line(f"{name} = {name}.encode()")
        length = out.fresh("length")
        out.line(f"{length} = len({name}){' + 1' if field.compact else ''}")
        self._length(length, field.compact, "h" if field.kind == "string" else "i")
        out.line(f"add({name})")

    def _records(self, field: FieldPlan, name: str) -> None:
        out = self._source
        length = out.fresh("length")
        out.line(f"{length} = len({name}){' + 1' if field.compact else ''}")
        self._length(length, field.compact, "i")
        with out.block(f"if {length}{' > 1' if field.compact else ''}:"):
            out.line("items.append(b''.join(parts))")
            out.line("parts.clear()")
            out.line(f"items.append({name})")

    def _array(self, field: FieldPlan, name: str) -> None:
        out = self._source
        count = out.fresh("count")
        out.line(f"{count} = len({name}){' + 1' if field.compact else ''}")
        self._length(count, field.compact, "i")
        if field.kind == "uuid":
            out.line(f"parts += map(uuid, {name})")
        elif field.kind in FIXED:
            code = FIXED[field.kind][0]
            table = f"pack_small_{code}"
            out.names.setdefault(table, small_packers(code))
            n = f"{count} - 1" if field.compact else count
            prepared = f"{table}[{n}] if {count} < {SMALL_ARRAY} else"
            out.line(f"add(({prepared} struct_of({name}, '{code}'))(*{name}))")
            out.names["struct_of"] = pack_of
        else:
            element = out.fresh("e")
            with out.block(f"for {element} in {name}:"):
                if field.element is not None:
                    self._struct(field.element, element)
                    self._flush()
                else:
                    self._sized(field, element)

    def _tag_section(self, tagged: list[FieldPlan], owner: str) -> None:
        """Write the encoding of a struct's tag section: the fields that differ from their defaults."""
        out = self._source
        if not tagged:
            self._run.append(("x", ""))
            return
        before = list(self._run)
        conditions = [f"({self._differs(field, owner)})" for field in tagged]
        with out.block(f"if {' or '.join(conditions)}:"):
            self._flush()
            out.line(f"add(BYTE[{' + '.join(f'bool{condition}' for condition in conditions)}])")
            for field, condition in zip(tagged, conditions, strict=True):
                with out.block(f"if {condition}:"):
                    mark = out.fresh("mark")
                    out.line(f"{mark} = len(parts)")
                    self._field(field, f"{owner}.{field.name}")
                    self._flush()
                    size = f"uvarint(sum(map(len, parts[{mark}:])))"
                    out.line(f"parts.insert({mark}, {uvarint(field.tag or 0)!r} + {size})")
        with out.block("else:"):
            self._run = [*before, ("x", "")]
            self._flush()


def pack_of(values: list[int], code: str) -> Any:
    """Return the `pack` function of a long array."""
    return struct.Struct(f">{len(values)}{code}").pack
