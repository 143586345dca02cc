"""The CRC-32C that the broker takes, whichever it is, beside the library's."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest
from crc32c import crc32c as of_library

from kcompat.records.checksum import crc32c
from kcompat.records.scanning import INSPECTS_CRC

_noise = random.Random(3).randbytes(1 << 20)


@pytest.mark.parametrize("size", [0, 1, 7, 61, 255, 256, 4096, len(_noise)])
def test_it_is_that_of_the_library(size: int) -> None:
    data = _noise[:size]
    assert crc32c(data) == crc32c(bytearray(data)) == of_library(data)


def test_a_part_of_a_buffer_is_taken_as_it_lies() -> None:
    assert crc32c(memoryview(_noise)[5:1000]) == of_library(_noise[5:1000])


@pytest.mark.parametrize("what", ["text", memoryview(_noise)[::2], None])
def test_what_has_no_bytes_in_a_row_is_refused(what: object) -> None:
    with pytest.raises((TypeError, BufferError)):
        crc32c(what)  # type: ignore[arg-type]


@pytest.mark.skipif(not INSPECTS_CRC, reason="the library is in use here")
def test_the_library_is_left_alone_where_the_extension_is_as_fast() -> None:
    program = "import sys, kcompat.node.broker; print('crc32c' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True)
    assert found.stdout == "False\n"
