"""The native codec and the generated functions read and write alike, whatever they are given.

Messages and damage are made by a plain random generator, many times faster than hypothesis: the seed is in
what pytest shows. KCOMPAT_FUZZ is how many messages there are of each version; each is damaged in many ways.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.protocol.plan import plan_message
from kcompat.protocol.schema import ProtocolViolation
from support.codecs import NATIVE, PYTHON
from support.fuzzing import exact, examples
from support.messages import message_classes

from .strategies import INTEGERS

if TYPE_CHECKING:
    from kcompat.protocol.plan import FieldPlan, StructPlan

pytestmark = pytest.mark.skipif(NATIVE is None, reason="the extension was not built")

MESSAGES = examples(3)
SEED = os.environ.get("KCOMPAT_FUZZ_SEED") or random.SystemRandom().randrange(10**6)

TEXTS = [
    "",
    "t",
    "topic-1",
    "x" * 126,
    "x" * 127,
    "x" * 128,
    "gr\u00fc\u00dfe \U0001f600",
    "\0",
    "\ud7ff" * 60,
]
BINARY = [b"", b"\0", b"data", b"y" * 126, b"y" * 127, b"y" * 300, b"\xff\xfe"]
JUNK = [None, True, 0, 7, -1, 128, 2**15, 2**31, 2**40, 2**63, 2**70, -(2**70), 1.5, float("nan"), object()]
JUNK += ["", "x", "\ud800", "x" * 40_000, b"", b"b", b"u" * 16, bytearray(b"u" * 16), b"u" * 17]
JUNK += [[], [None], [7], ["x"], [2**40], [[]], [b"u" * 15], (1, 2), {3, 4}, {"k": 1}, (x for x in "ab"), int]


class Maker:
    """Makes messages, good ones and others."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice

    def message(self, plan: StructPlan) -> Any:
        fields = {
            field.name: self.field(field) for field in plan.fields if field.present and self.wanted(field)
        }
        return plan.cls(**fields)

    def wanted(self, field: FieldPlan) -> bool:
        """Nearly every field, and each whose default this version cannot carry."""
        return self.dice.random() < 0.9 or (field.default is None and not field.nullable)

    def field(self, field: FieldPlan) -> Any:
        if field.nullable and self.dice.random() < 0.2:
            return None
        if not field.array:
            return self.one(field)
        most = 2 if field.element else self.dice.choice([1, 3, 20])
        return [self.one(field) for _ in range(self.dice.randint(0, most))]

    def one(self, field: FieldPlan) -> Any:
        dice = self.dice
        if field.element is not None:
            return self.message(field.element)
        if field.kind in INTEGERS:
            low, high = INTEGERS[field.kind]
            return dice.choice([low, high, 0, 1, dice.randint(low, high)])
        if field.kind == "bool":
            return dice.random() < 0.5
        if field.kind == "float64":
            return dice.choice([0.0, -0.0, 1.5, float("inf"), 5e-324, dice.random()])
        if field.kind == "uuid":
            return dice.choice([bytes(16), dice.randbytes(16)])
        return dice.choice(TEXTS if field.kind == "string" else BINARY)

    def spoil(self, message: Any) -> None:
        """Put something into one field, maybe of a nested struct, that may not belong there."""
        name = self.dice.choice(message.__struct_fields__)
        value = getattr(message, name)
        inner = [value] if hasattr(value, "__struct_fields__") else value if isinstance(value, list) else []
        inner = [element for element in inner if hasattr(element, "__struct_fields__")]
        if inner and self.dice.random() < 0.8:
            return self.spoil(self.dice.choice(inner))
        if not message.__struct_config__.frozen:
            setattr(message, name, self.dice.choice(JUNK))
        return None

    def damage(self, wire: bytes) -> bytes:
        """A few bytes changed, put in or taken out, and maybe cut."""
        body = bytearray(wire)
        for _ in range(self.dice.choice([0, 1, 1, 2, 4])):
            at = self.dice.randint(0, len(body))
            byte = self.dice.choice([0, 1, 2, 0x7F, 0x80, 0xFF, self.dice.randrange(256)])
            body[at : at + self.dice.randint(0, 2)] = bytes([byte] * self.dice.randint(0, 2))
        return bytes(body[: self.dice.randint(0, len(body))] if self.dice.random() < 0.3 else body)


def spell(value: Any) -> Any:
    """A value with all its types, so that what is equal is the same."""
    if hasattr(value, "__struct_fields__"):
        return type(value), [spell(getattr(value, name)) for name in value.__struct_fields__]
    if isinstance(value, list | tuple):
        return type(value), [spell(element) for element in value]
    if isinstance(value, memoryview):
        return memoryview, value.obj, bytes(value)
    return type(value), repr(value)


def outcome(function: Any, *given: Any) -> Any:
    """Return the result of a function, or the kind of its error and the message that it names."""
    try:
        return spell(function(*given))
    except (ProtocolViolation, ValueError) as fault:
        return type(fault), str(fault).partition(":")[0].removesuffix(" is cut short")


@pytest.mark.parametrize("cls", message_classes(), ids=lambda cls: cls.__name__)
def test_both_codecs_agree(cls):
    maker = Maker(random.Random(f"{SEED} {cls.__name__}"))
    for version in cls.versions:
        for _ in range(MESSAGES):
            _compare(cls, version, maker)


def _compare(cls, version, maker):
    dice = maker.dice
    message = maker.message(plan_message(cls, version))
    encode = [codec.compile_encoder(cls, version) for codec in (PYTHON, NATIVE)]
    decode = [codec.compile_decoder(cls, version) for codec in (PYTHON, NATIVE)]
    items = encode[0](message)
    assert spell(items) == spell(encode[1](message)), (SEED, version, message)
    wire = b"".join(items)
    frame = [codec.compile_framer(cls, version) for codec in (PYTHON, NATIVE)]
    head = dice.randint(-(2**31), 2**31 - 1), dice.randint(0, 1)
    framed = [spell(function(message, *head)) for function in frame]
    assert framed[0] == framed[1], (SEED, version, message)
    frames = [b"?" * 2 + wire + b"!"] + [b"??" + maker.damage(wire) for _ in range(6)]
    frames += [dice.randbytes(dice.randint(2, 40)), b"??" + bytes(dice.choices(b"\0\1\2\xff", k=20))]
    for frame in frames:
        view = exact(frame)
        limit = dice.choice([(), (dice.randint(0, 30),)])
        read = [outcome(function, view, 2, *limit) for function in decode]
        assert read[0] == read[1], (SEED, version, frame.hex(), limit)
    for _ in range(3):
        maker.spoil(message)
        wrote = [outcome(function, message) for function in encode]
        assert wrote[0] == wrote[1], (SEED, version, message)


def test_both_read_headers_alike():
    dice = random.Random(SEED)
    for _ in range(2000 * MESSAGES):
        size = dice.choice([0, 1, 3, 127, 128, 300])
        start = dice.randbytes(8) + dice.choice([size, size, -1, size + 1, -2]).to_bytes(
            2, "big", signed=True
        )
        tags = bytes(dice.choices(b"\0\1\2\x80\xff", k=6))
        frame = memoryview(start + dice.choice([b"a", b"\xff"]) * size + tags)[: dice.randint(0, size + 16)]
        for version in (0, 1, 2):
            read = [outcome(codec.read_request_header, frame, version) for codec in (PYTHON, NATIVE)]
            assert (read[0] == read[1]) or (read[0][0] is read[1][0] is ProtocolViolation), (SEED, frame)
