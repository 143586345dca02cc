"""Every way of `_crc.h` to a CRC, as far as this processor has it, against the libraries."""

from __future__ import annotations

import ctypes
import random
import shutil
import subprocess
from pathlib import Path
from zlib import crc32

import pytest
from crc32c import crc32c

ROOT = Path(__file__).parents[3]
WAYS = {"tables": 0, "instruction": 1, "128 bits": 2, "512 bits": 3}
"""Values of `enum crc_way` in the C source."""
ALIGNMENTS = range(16)
LENGTHS = range(1025)
CHECK = b"123456789"  # what the catalogues of CRCs give as their example

_noise = random.Random(7).randbytes(3 << 20)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """`crc_probe.c`, compiled: it includes the header as the extensions do."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    file = tmp_path_factory.mktemp("crc") / "probe.so"
    source = Path(__file__).with_name("crc_probe.c")
    command = [compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{ROOT}"]
    subprocess.run([*command, str(source), "-o", str(file)], check=True)
    return ctypes.CDLL(str(file))


@pytest.fixture(params=WAYS)
def probe(request: pytest.FixtureRequest, library: ctypes.CDLL) -> ctypes.CDLL:
    if not library.prepare(WAYS[request.param]):
        pytest.skip("this processor has it not")
    for function in (library.probe_crc32, library.probe_crc32c):
        function.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
        function.restype = ctypes.c_uint32
    return library


def test_example_of_the_catalogues(probe: ctypes.CDLL) -> None:
    assert probe.probe_crc32(CHECK, len(CHECK)) == 0xCBF43926
    assert probe.probe_crc32c(CHECK, len(CHECK)) == 0xE3069283


def test_every_length_at_every_alignment(probe: ctypes.CDLL) -> None:
    buffer = ctypes.create_string_buffer(_noise[:2048])
    start = -(-ctypes.addressof(buffer) // 64) * 64
    skipped = start - ctypes.addressof(buffer)
    for alignment in ALIGNMENTS:
        at = start + alignment
        behind = _noise[skipped + alignment : skipped + alignment + LENGTHS[-1]]
        got = [(probe.probe_crc32(at, size), probe.probe_crc32c(at, size)) for size in LENGTHS]
        assert got == [(crc32(behind[:size]), crc32c(behind[:size])) for size in LENGTHS]


def test_long_inputs(probe: ctypes.CDLL) -> None:
    chooser = random.Random(11)
    for _ in range(100):
        data = _noise[chooser.randrange(1000) : chooser.randrange(1000, len(_noise))]
        assert probe.probe_crc32(data, len(data)) == crc32(data)
        assert probe.probe_crc32c(data, len(data)) == crc32c(data)


@pytest.mark.parametrize("byte", [b"\x00", b"\xff"])
def test_inputs_of_one_byte_repeated(probe: ctypes.CDLL, byte: bytes) -> None:
    for size in (1, 15, 16, 17, 255, 256, 4096, 100_000):
        data = byte * size
        assert probe.probe_crc32(data, size) == crc32(data)
        assert probe.probe_crc32c(data, size) == crc32c(data)
