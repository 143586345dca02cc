"""Where things stand in batches and messages, for Python and for C."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kcompat.records import layout


def test_a_header_has_its_fields_where_kafka_has_them() -> None:
    assert {name: place.at for name, place in layout.HEADER_PLACES.items()} == {
        "base_offset": 0,
        "batch_length": 8,
        "leader_epoch": 12,
        "magic": 16,
        "crc": 17,
        "attributes": 21,
        "last_offset_delta": 23,
        "base_timestamp": 27,
        "max_timestamp": 35,
        "producer_id": 43,
        "producer_epoch": 51,
        "base_sequence": 53,
        "record_count": 57,
    }
    assert layout.HEADER_SIZE == 61
    assert [name for name, place in layout.HEADER_PLACES.items() if not place.is_signed] == ["crc"]
    assert layout.HEADER_PLACES["batch_length"].at == layout.LENGTH_AT
    assert layout.HEADER_PLACES["magic"].at == layout.MAGIC_AT


CHANGED = """
from kcompat.records import layout, _python
{change}
import kcompat.records._native as native
from kcompat.records.batch import build_batch
from kcompat.records.record import Record

batch = build_batch([Record(0, 5, None, b"v")])
print(native.inspect(batch, 1000, 5, 0, 0) is not None, native.scan(b"x", 0, 0)[2])
"""


def seen_after(change: str) -> str:
    """Return the outcome of the extension for a good and a bad batch, where Python has other constants."""
    pytest.importorskip("kcompat.records._native", exc_type=ImportError)
    code = CHANGED.format(change=change)
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return (answer.stdout or answer.stderr).strip().splitlines()[-1]


def test_an_extension_goes_by_the_numbers_of_python() -> None:
    assert seen_after("") == "True 1"
    from_one_on = "import enum; _python.Fault = enum.IntEnum('Fault', [*_python.Fault.__members__])"
    assert seen_after(from_one_on) == "True 2"


@pytest.mark.parametrize(
    "change",
    [
        "layout.HEADER_PLACES['crc'] = layout.Place(17, 16, False)",
        "layout.HEADER_PLACES['crc'] = layout.Place(60, 4, False)",
        "layout.HEADER_PLACES['crc'] = layout.Place(2, 4, False)",
        "layout.HEADER_PLACES['crc'] = layout.Place(-4, 4, False)",
    ],
)
def test_no_field_may_stand_outside_the_header(change: str) -> None:
    assert "of a batch header: crc" in seen_after(change)


def test_a_number_that_is_missing_or_none_is_an_error() -> None:
    assert "CONTROL_FLAG" in seen_after("del layout.CONTROL_FLAG")
    assert "OverflowError" in seen_after("layout.SMALLEST_RECORD = 2**40")
    assert "TypeError" in seen_after("layout.SMALLEST_RECORD = 'x'")
