"""Numbers as Java prints them."""

from __future__ import annotations

import pytest

from kcompat.commands.java_double import java_double


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
