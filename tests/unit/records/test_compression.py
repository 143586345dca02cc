"""Every codec round trip, damage, and the bound on what compressed data may become."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
import zlib
from collections import deque
from collections.abc import Generator
from importlib.util import find_spec

import pytest
import snappy
import zstandard

from kcompat.records.compression import (
    CHUNK,
    DEFAULT_LEVELS,
    Codec,
    compress,
    decompress,
    fast_level,
    output_bound,
)
from kcompat.records.errors import RecordsDamaged
from support.eventually import limit_s

MIB = 1 << 20
CODECS = [codec for codec in Codec if codec is not Codec.NONE]
SAMPLES = [b"", b"a", b"abc" * 1000, bytes(range(256)) * 3000, b"x" * 900_000]


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("data", SAMPLES, ids=len)
def test_round_trip(codec: Codec, data: bytes) -> None:
    chunks = list(decompress(codec, memoryview(compress(codec, data))))
    assert b"".join(chunks) == data
    assert all(len(chunk) <= CHUNK for chunk in chunks) or codec is Codec.NONE


@pytest.mark.parametrize("codec", CODECS)
def test_every_shortened_input_is_damage_or_less_data(codec: Codec) -> None:
    data = bytes(range(256)) * 4
    packed = compress(codec, data)
    for cut in range(len(packed)):
        try:
            unpacked = b"".join(decompress(codec, packed[:cut]))
        except RecordsDamaged:
            continue
        assert len(unpacked) < len(data) or cut >= len(packed) - 4  # zstd and lz4 end in checksums or markers


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("junk", [b"junk", b"\x00" * 40, b"\xff" * 40, b"GET / HTTP/1.1\r\n\r\n"])
def test_other_bytes_are_damage(codec: Codec, junk: bytes) -> None:
    with pytest.raises(RecordsDamaged):
        list(decompress(codec, junk))


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_unknown_codecs_are_damage(codec: int) -> None:
    with pytest.raises(RecordsDamaged, match=f"unknown compression codec {codec}"):
        list(decompress(codec, b"abc"))


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_frames_may_follow_one_another(codec: Codec) -> None:
    twice = compress(codec, b"one") + compress(codec, b"two")
    assert b"".join(decompress(codec, twice)) == b"onetwo"


def test_the_bound() -> None:
    assert output_bound(10) == 1048588
    assert output_bound(10, max_message_bytes=1000) == MIB
    assert output_bound(10, max_message_bytes=70 * MIB) == 70 * MIB
    assert output_bound(2000) == 2_000_000
    assert output_bound(MIB) == 100 * 1048588
    assert output_bound(MIB, max_message_bytes=1000) == 64 * MIB
    assert output_bound(10 * MIB, max_message_bytes=10 * MIB) == 1000 * MIB


@pytest.mark.parametrize("codec", [Codec.ZSTD, Codec.GZIP])
def test_a_bomb_stops_at_the_bound(codec: Codec) -> None:
    size = 80 * MIB
    if codec is Codec.ZSTD:
        bomb = zstandard.ZstdCompressor().compress(bytes(size))
    else:
        bomb = b"".join(gzip.compress(bytes(2 * MIB)) for _ in range(40))
    chunks: deque[int] = deque()
    with pytest.raises(RecordsDamaged, match="expands beyond"):
        chunks.extend(map(len, decompress(codec, bomb, max_message_bytes=1000)))
    assert MIB <= sum(chunks) <= output_bound(len(bomb), 1000)


def test_a_snappy_block_is_not_believed() -> None:
    with pytest.raises(RecordsDamaged, match="declares 2147483647"):
        list(decompress(Codec.SNAPPY, bytes.fromhex("ffffffff07") + bytes(20)))


def test_snappy_without_a_container() -> None:
    raw = snappy.compress(b"abc" * 500)
    assert b"".join(decompress(Codec.SNAPPY, raw)) == b"abc" * 500


def test_snappy_is_written_as_java_clients_read_it() -> None:
    packed = compress(Codec.SNAPPY, bytes(100_000))
    assert packed[:16] == bytes.fromhex("82534e4150505900 00000001 00000001")
    first = int.from_bytes(packed[16:20], "big")
    assert snappy.uncompress(packed[20 : 20 + first]) == bytes(64 * 1024)
    second = packed[20 + first :]
    assert int.from_bytes(second[:4], "big") == len(second) - 4
    assert snappy.uncompress(second[4:]) == bytes(100_000 - 64 * 1024)


@pytest.mark.parametrize(
    ("sizes", "pieces"),
    [
        ([32 * 1024] * 3, [96 * 1024]),
        ([32 * 1024] * 9, [128 * 1024, 128 * 1024, 32 * 1024]),
        ([1] * 20, [8, 8, 4]),
        ([400_000, 5], [400_000, 5]),
    ],
)
def test_blocks_of_snappy_come_some_at_a_time(sizes: list[int], pieces: list[int]) -> None:
    packed = bytearray.fromhex("82534e4150505900 00000001 00000001")
    for size in sizes:
        block = snappy.compress(b"k" * size)
        packed += len(block).to_bytes(4, "big") + block
    assert [len(piece) for piece in decompress(Codec.SNAPPY, packed)] == pieces


@pytest.mark.parametrize("block", ["00000000", "ffffffff", "7fffffff00", "0000000500"])
def test_snappy_block_lengths_are_checked(block: str) -> None:
    header = bytes.fromhex("82534e4150505900 00000001 00000001")
    with pytest.raises(RecordsDamaged, match="snappy block of"):
        list(decompress(Codec.SNAPPY, header + bytes.fromhex(block)))


def test_lz4_is_a_frame_of_independent_blocks() -> None:
    packed = compress(Codec.LZ4, bytes(100_000))
    assert packed[:4] == bytes.fromhex("04224d18")
    flags, blocks = packed[4], packed[5]
    assert flags & 0xE8 == 0x60  # version 1, independent blocks, no content size
    assert blocks == 0x40  # 64 KiB


@pytest.mark.parametrize("codec", Codec)
def test_two_batches_unpacked_by_turns_do_not_meet(codec: Codec) -> None:
    first, second = (random.Random(seed).randbytes(100_000) * 12 for seed in (1, 2))
    left = decompress(codec, compress(codec, first))
    begun = next(left)
    abandoned = decompress(codec, compress(codec, first))
    assert isinstance(abandoned, Generator)
    next(abandoned)
    right = decompress(codec, compress(codec, second))
    taken = b"".join(right)
    abandoned.close()
    assert begun + b"".join(left) == first
    assert taken == second
    assert b"".join(decompress(codec, compress(codec, second))) == second


@pytest.mark.parametrize("level", [None, -1, 1, 9])
def test_gzip_is_one_member(level: int | None) -> None:
    assert zlib.decompress(compress(Codec.GZIP, b"abc", level), wbits=31) == b"abc"


TEXT = b" ".join(b"%d %x" % (number, number * number) for number in range(20_000))


def gzip_of_zlib(level: int) -> bytes:
    packer = zlib.compressobj(level, wbits=31)
    return packer.compress(TEXT) + packer.flush()


@pytest.mark.parametrize("level", range(1, 10))
def test_the_levels_of_gzip_are_those_of_zlib(level: int) -> None:
    assert compress(Codec.GZIP, TEXT, level) == gzip_of_zlib(level)


@pytest.mark.skipif(find_spec("isal") is not None, reason="isal has a default of its own")
def test_the_default_of_gzip_is_that_of_zlib() -> None:
    assert compress(Codec.GZIP, TEXT) == compress(Codec.GZIP, TEXT, -1) == gzip_of_zlib(6)


def test_gzip_is_quicker_for_what_is_sent_once() -> None:
    assert fast_level(Codec.GZIP) == (None if find_spec("isal") else 4)
    assert [fast_level(codec) for codec in CODECS[1:]] == [None] * 3


@pytest.mark.parametrize(
    ("codec", "levels"),
    [
        (Codec.GZIP, (1, 4, 9)),
        (Codec.LZ4, (9, 1, 8, 17)),  # 9 is Kafka's name for the quick method
        (Codec.ZSTD, (-131072, -5, 1, 22)),
    ],
)
def test_levels_from_large_to_small(codec: Codec, levels: tuple[int, ...]) -> None:
    packed = [compress(codec, TEXT, level) for level in levels]
    sizes = [len(data) for data in packed]
    assert sorted(set(sizes), reverse=True) == sizes
    assert all(b"".join(decompress(codec, data)) == TEXT for data in packed)


def test_kafkas_default_levels() -> None:
    assert [DEFAULT_LEVELS[codec] for codec in Codec] == [0, -1, 0, 9, 3]
    for codec in Codec:
        assert compress(codec, TEXT) == compress(codec, TEXT, DEFAULT_LEVELS[codec])


@pytest.mark.parametrize(("first", "last"), [(1, 3), (12, 17)])
def test_levels_of_lz4_that_the_library_does_not_have_are_the_nearest(first: int, last: int) -> None:
    assert len({compress(Codec.LZ4, TEXT, level) for level in range(first, last + 1)}) == 1


def test_no_codec_is_loaded_before_it_is_needed() -> None:
    script = (
        "import sys, kcompat.records.batch\n"
        "assert not {'lz4', 'zstandard', 'snappy', 'cramjam', 'isal'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=limit_s(30))
