"""Work that exceeds its allowance is abandoned, and can be begun again."""

from __future__ import annotations

import base64
import gzip
import random
import threading
from contextlib import suppress

import cramjam
import pytest

from kcompat.records.allowance import Allowance, AllowanceSpent, expect
from kcompat.records.compression import Codec, compress, decompress

MIB = 1 << 20
TEXT = base64.b64encode(random.Random(0).randbytes(900_000))  # 1.2 MB that hardly compress


def unpack(codec: int, packed: bytes) -> bytes:
    return b"".join(decompress(codec, packed))


@pytest.mark.parametrize(
    ("codec", "enough"),
    [(Codec.SNAPPY, 1400 * 1024), (Codec.LZ4, 1400 * 1024), (Codec.ZSTD, 1400 * 1024), (Codec.GZIP, 5 * MIB)],
)
def test_unpacking_ends_with_the_allowance(codec: Codec, enough: int) -> None:
    packed = compress(codec, TEXT)
    with Allowance(enough):
        assert unpack(codec, packed) == TEXT
    with Allowance(enough // 2), pytest.raises(AllowanceSpent):
        unpack(codec, packed)
    assert unpack(codec, packed) == TEXT


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_not_much_more_is_unpacked_than_the_allowance(codec: Codec) -> None:
    chunks = decompress(codec, compress(codec, TEXT))
    unpacked = 0
    with Allowance(100_000), suppress(AllowanceSpent):
        for chunk in chunks:
            unpacked += len(chunk)
    assert unpacked <= 256 * 1024


def test_calls_share_one_allowance() -> None:
    packed = compress(Codec.LZ4, bytes(1000))
    with Allowance(10_000):
        for _ in range(3):
            unpack(Codec.LZ4, packed)
        with pytest.raises(AllowanceSpent):
            unpack(Codec.LZ4, packed)


def test_what_is_packed_counts() -> None:
    with Allowance(10_000):
        for _ in range(2):
            compress(Codec.LZ4, bytes(2000))
        with pytest.raises(AllowanceSpent):
            compress(Codec.LZ4, bytes(2000))
        compress(Codec.LZ4, bytes(1000))


def test_nothing_is_unpacked_without_an_allowance_that_is_left() -> None:
    chunks = decompress(Codec.LZ4, compress(Codec.LZ4, bytes(1000)))
    with Allowance(0), pytest.raises(AllowanceSpent):
        next(chunks)


def test_an_allowance_can_be_entered_again() -> None:
    allowance = Allowance(10_000)
    packed = compress(Codec.LZ4, bytes(1000))
    for _ in range(3):
        with allowance:
            unpack(Codec.LZ4, packed)
    with allowance, pytest.raises(AllowanceSpent):
        unpack(Codec.LZ4, packed)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_packing_is_not_begun_without_the_allowance_for_it(codec: Codec) -> None:
    with Allowance(len(TEXT)), pytest.raises(AllowanceSpent):
        compress(codec, TEXT)
    with Allowance(16 * len(TEXT)):
        packed = compress(codec, TEXT)
    assert unpack(codec, packed) == TEXT
    with Allowance(0):
        assert compress(Codec.NONE, TEXT) == TEXT


@pytest.mark.parametrize(
    ("codec", "level", "weight"),
    [
        (Codec.GZIP, -1, 16), (Codec.GZIP, 1, 8), (Codec.GZIP, 4, 16), (Codec.GZIP, 9, 48),
        (Codec.LZ4, 1, 16), (Codec.LZ4, 9, 2), (Codec.LZ4, 10, 56), (Codec.LZ4, 17, 56),
        (Codec.ZSTD, -131072, 4), (Codec.ZSTD, 3, 4), (Codec.ZSTD, 4, 20), (Codec.ZSTD, 22, 500),
    ],
)  # fmt: skip
def test_slow_levels_need_more(codec: Codec, level: int, weight: int) -> None:
    data = TEXT[:10_000]
    with Allowance(weight * len(data)):
        packed = compress(codec, data, level)
    assert unpack(codec, packed) == data
    with Allowance(weight * len(data) - 1), pytest.raises(AllowanceSpent):
        compress(codec, data, level)


def test_the_size_that_gzip_names_is_enough_to_give_up() -> None:
    packed = gzip.compress(b"x" * 10) + MIB.to_bytes(4, "little")
    with Allowance(MIB), pytest.raises(AllowanceSpent):
        next(decompress(Codec.GZIP, packed))


def test_a_snappy_block_too_large_is_not_begun() -> None:
    block = bytes(cramjam.snappy.compress_raw(TEXT))
    with Allowance(len(TEXT) - 1), pytest.raises(AllowanceSpent):
        next(decompress(Codec.SNAPPY, block))


def test_steps_without_output_count() -> None:
    empty_members = gzip.compress(b"") * 1000
    with Allowance(MIB), pytest.raises(AllowanceSpent):
        unpack(Codec.GZIP, empty_members)
    assert unpack(Codec.GZIP, empty_members) == b""


def test_other_threads_have_no_part_in_it() -> None:
    raised: list[Exception] = []

    def run() -> None:
        try:
            expect(1)
        except AllowanceSpent as spent:
            raised.append(spent)

    with Allowance(0):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        with pytest.raises(AllowanceSpent):
            expect(1)
    expect(1)
    assert raised == []
