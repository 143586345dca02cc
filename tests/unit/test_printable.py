"""The escapes of characters that do not print."""

from __future__ import annotations

from kcompat.printable import printable


def test_only_characters_that_do_not_print_are_escaped() -> None:
    assert printable("Grüße an t-0 \\n") == "Grüße an t-0 \\n"
    assert printable("a\x1b[2J\r\nb\x9b\u202e\ud800") == "a\\x1b[2J\\r\\nb\\x9b\\u202e\\ud800"
    assert printable(printable("\n")) == "\\n"
