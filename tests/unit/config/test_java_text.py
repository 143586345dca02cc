"""Text of values as Java prints it."""

from __future__ import annotations

import pytest

from kcompat.config.java_text import java_double


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1024.0, "1024.0"),
        (12.5, "12.5"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (9999999.0, "9999999.0"),
        (10000000.0, "1.0E7"),
        (123456789.0, "1.23456789E8"),
        (-2.5e20, "-2.5E20"),
        (0.1, "0.1"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_a_number_is_written_as_by_java(value: float, text: str) -> None:
    assert java_double(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.1, "0.1"), (16777216.0, "1.6777216E7"), (1e-4, "1.0E-4"), (-0.0, "-0.0")]
)
def test_a_number_of_32_bits_has_the_digits_that_tell_it_from_others(value: float, text: str) -> None:
    import struct

    (single,) = struct.unpack(">f", struct.pack(">f", value))
    assert java_double(single, is_single=True) == text
