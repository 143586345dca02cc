"""The codecs of record batches, with bounded decompression.

Decompression yields chunks and stops as soon as the output exceeds `output_bound`: memory use depends on the
bytes really unpacked, never on a declared size. Libraries are imported on first use, so a broker that only
stores batches as its clients compressed them never loads one.

- gzip: any number of members; through isal when it is installed (several times faster than zlib).
- snappy: written in the xerial container that Java clients expect, in blocks of 64 KiB; read with or
  without it.
- lz4: frames of independent blocks, 64 KiB, as Kafka's Java client writes them.
- zstd: any frames, with or without a content size. A frame that is cut short yields its content up to there;
  the reader of the records then finds too few.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from kcompat.records.allowance import current, expect, take
from kcompat.records.errors import RecordsDamaged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Buffer = bytes | bytearray | memoryview

CHUNK = 256 * 1024
"""Largest output in bytes of one decompression step, except for a snappy block, which is one piece."""

_FEED = 64 * 1024
_GZIP = 31  # zlib's window bits for a gzip header and trailer
_FAST_ZLIB_LEVEL = 4  # zlib level 4: the fastest level with lazy matching

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
# the range of snappy's back references; Java clients write 32 KiB, which compresses less
_XERIAL_BLOCK = 64 * 1024
_GATHERED_BLOCKS = 8
_SNAPPY_MAX_RATIO = 22  # three bytes of a copy element expand to at most 64

_STEP_COST = 2 * 1024  # in unpacked bytes, for steps without output

DEFAULT_MAX_MESSAGE_BYTES = 1048588
_BOUND_FLOOR = 64 << 20
_RATIO = 1000
_RATIO_FLOOR = 1 << 20


class Codec(IntEnum):
    """Kafka's compression types, as the attribute bits hold them."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class Compression(NamedTuple):
    """A codec and a compression level, None for the codec's default (Kafka's class of this name)."""

    codec: Codec
    level: int | None = None


DEFAULT_LEVELS: Mapping[int, int] = MappingProxyType(
    {Codec.NONE: 0, Codec.GZIP: -1, Codec.SNAPPY: 0, Codec.LZ4: 9, Codec.ZSTD: 3}
)
"""Kafka's defaults of `compression.*.level` (KIP-390); none and snappy have no levels."""

# Time to unpack and check a byte, relative to one of a fast codec, which takes 2 ms per MB.
_UNPACKING_WEIGHT: dict[int, int] = {Codec.GZIP: 4}
# Time to compress a byte by the same measure: pairs of the highest level and the factor.
_PACKING_WEIGHTS: dict[int, tuple[tuple[int, int], ...]] = {
    Codec.GZIP: ((-1, 16), (3, 8), (6, 16), (7, 24), (9, 48)),
    Codec.SNAPPY: ((0, 2),),
    Codec.LZ4: ((8, 16), (9, 2), (17, 56)),
    Codec.ZSTD: ((3, 4), (8, 20), (12, 40), (15, 100), (22, 500)),
}


def output_bound(compressed_size: int, max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES) -> int:
    """Return the largest size in bytes that one batch may unpack to.

    It is the smaller of two bounds: the larger of 64 MiB and 100 * `max_message_bytes`; and the largest of 1
    MiB, `max_message_bytes` and 1000 * `compressed_size`.
    """
    ratio_bound = max(_RATIO_FLOOR, max_message_bytes, _RATIO * compressed_size)
    return min(max(_BOUND_FLOOR, 100 * max_message_bytes), ratio_bound)


def compress(codec: Codec, data: Buffer, level: int | None = None) -> bytes:
    """Compress the records of a batch at a level that Kafka's configs allow, or at the codec's default.

    May raise `AllowanceSpent`.
    """
    if codec == Codec.NONE:
        return bytes(data)
    if level is None:
        level = DEFAULT_LEVELS[codec]
    weight = next(weight for highest, weight in _PACKING_WEIGHTS[codec] if level <= highest)
    take(len(data) * weight)
    return _COMPRESSORS[codec](data, level)


def fast_level(codec: Codec) -> int | None:
    """Return the level for bytes that are sent only once: for gzip half the time and about 5 % larger; else
    None.
    """
    # isal's best level is 3, and fast
    is_slow = codec == Codec.GZIP and _zlib().Z_BEST_COMPRESSION > _FAST_ZLIB_LEVEL
    return _FAST_ZLIB_LEVEL if is_slow else None


def decompress(
    codec: int, data: Buffer, max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
) -> Iterator[bytes]:
    """Yield the uncompressed bytes in chunks.

    Raises `RecordsDamaged` on damage, unknown codecs and output beyond the bound, and `AllowanceSpent` if the
    `Allowance` is spent.
    """
    if codec == Codec.NONE:
        yield bytes(data)
        return
    weight = _UNPACKING_WEIGHT.get(codec, 1)
    unpack = _DECOMPRESSORS.get(codec)
    if unpack is None:
        raise RecordsDamaged(f"unknown compression codec {codec}")
    left = output_bound(len(data), max_message_bytes)
    allowance = current()
    if allowance is not None:
        allowance.expect(1)
    for chunk in unpack(memoryview(data), left):
        left -= len(chunk)
        if left < 0:
            raise RecordsDamaged(f"{Codec(codec).name.lower()} data expands beyond the bound of one batch")
        yield chunk
        if allowance is not None:
            allowance.spend(weight * (len(chunk) + _STEP_COST))


@cache
def _zlib() -> Any:
    try:
        from isal import isal_zlib  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        import zlib

        return zlib
    return isal_zlib


def _gzip_compress(data: Buffer, level: int) -> bytes:
    if level == DEFAULT_LEVELS[Codec.GZIP]:
        zlib = _zlib()
        level = zlib.Z_DEFAULT_COMPRESSION
    else:  # a configured level is zlib's: every level of isal compresses about as much as zlib's first
        import zlib
    packer = zlib.compressobj(level, wbits=_GZIP)
    packed: bytes = packer.compress(data) + packer.flush()
    return packed


def _gzip_chunks(data: memoryview, _bound: int) -> Iterator[bytes]:
    named_in_trailer = int.from_bytes(data[-4:], "little")
    expect(_UNPACKING_WEIGHT[Codec.GZIP] * named_in_trailer)
    zlib = _zlib()
    yield from _stream(data, lambda: zlib.decompressobj(wbits=_GZIP), _gzip_step, zlib.error)


def _gzip_step(unpacker: Any, piece: Buffer) -> tuple[bytes, Buffer]:
    return unpacker.decompress(piece, CHUNK), unpacker.unconsumed_tail


def _lz4_compress(data: Buffer, level: int) -> bytes:
    """Compress as Kafka's Lz4BlockOutputStream: the default level is the fast method, whatever its number,
    and every other level one of the high compressor, which the library numbers from 3 to 12.
    """
    import lz4.frame

    is_fast = level == DEFAULT_LEVELS[Codec.LZ4]
    packed: bytes = lz4.frame.compress(
        data,
        compression_level=0 if is_fast else max(level, lz4.frame.COMPRESSIONLEVEL_MINHC),
        block_linked=False,
        block_size=lz4.frame.BLOCKSIZE_MAX64KB,
        store_size=False,
    )
    return packed


def _lz4_chunks(data: memoryview, _bound: int) -> Iterator[bytes]:
    import lz4.frame

    yield from _stream(data, lz4.frame.LZ4FrameDecompressor, _lz4_step, RuntimeError)


def _lz4_step(unpacker: Any, piece: Buffer) -> tuple[bytes, Buffer]:
    return unpacker.decompress(piece, CHUNK), b""  # the decompressor keeps its unused input itself


def _stream(
    data: memoryview,
    new_unpacker: Callable[[], Any],
    step: Callable[[Any, Buffer], tuple[bytes, Buffer]],
    failure: type[Exception],
) -> Iterator[bytes]:
    """Decompress frames one after another, with decompressors shaped like zlib's, in small pieces.

    `step` returns the output of one call and the input that it did not use.
    """
    unpacker, started, position = new_unpacker(), False, 0
    piece: Buffer = b""
    full = False  # the last step filled its chunk, so more output may be waiting
    while True:
        if not piece and not full:
            piece = data[position : position + _FEED]
            position += len(piece)
            if not piece:
                break
        started = True
        try:
            chunk, piece = step(unpacker, piece)
        except (failure, ValueError, EOFError) as error:
            raise RecordsDamaged(f"damaged compressed data: {error}") from error
        full = len(chunk) == CHUNK and not unpacker.eof
        if unpacker.eof:
            piece = unpacker.unused_data or b""
            unpacker, started = new_unpacker(), False
        yield chunk
    if started:
        raise RecordsDamaged("compressed data ends too early")


def _zstd_compress(data: Buffer, level: int) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor(level).compress(data)


def _zstd_chunks(data: memoryview, _bound: int) -> Iterator[bytes]:
    import zstandard

    try:
        unpacker = _idle_zstd.pop()
    except IndexError:
        unpacker = zstandard.ZstdDecompressor()
    reader = unpacker.stream_reader(data, read_across_frames=True)
    try:
        while chunk := reader.read(CHUNK):
            yield chunk
    except zstandard.ZstdError as error:
        raise RecordsDamaged(f"damaged compressed data: {error}") from error
    finally:
        reader.close()
        if not _idle_zstd:
            _idle_zstd.append(unpacker)


_idle_zstd: list[Any] = []
"""An unused decompressor kept for the next batch: creating one costs more than a small batch."""


def _snappy_compress(data: Buffer, _level: int) -> bytes:
    import cramjam

    view = memoryview(data)
    parts: list[Any] = [_XERIAL_HEADER]
    for position in range(0, len(view), _XERIAL_BLOCK):
        block = cramjam.snappy.compress_raw(view[position : position + _XERIAL_BLOCK])
        parts += (len(block).to_bytes(4, "big"), block)
    return b"".join(parts)


def _snappy_chunks(data: memoryview, bound: int) -> Iterator[bytes]:
    if data[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        yield bytes(_snappy_block(data, bound))
        return
    gathered: list[Any] = []  # separate blocks would split records
    unpacked = 0
    position = len(_XERIAL_HEADER)
    while position < len(data):
        size = int.from_bytes(data[position : position + 4], "big", signed=True)
        position += 4
        if size <= 0 or size > len(data) - position:
            raise RecordsDamaged(f"a snappy block of {size} bytes where {len(data) - position} are left")
        gathered.append(_snappy_block(data[position : position + size], bound))
        position += size
        unpacked += len(gathered[-1])
        if unpacked >= CHUNK // 2 or len(gathered) == _GATHERED_BLOCKS:
            yield b"".join(gathered)
            gathered, unpacked = [], 0
    if gathered:
        yield b"".join(gathered)


def _snappy_block(block: memoryview, bound: int) -> Any:
    """Decompress one raw block; its declared size is used only up to what the format can produce."""
    import cramjam

    declared = shift = 0
    for byte in block[:5]:
        declared |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if declared > min(bound, _SNAPPY_MAX_RATIO * len(block)):
        raise RecordsDamaged(f"a snappy block of {len(block)} bytes that declares {declared}")
    expect(declared)
    try:
        return cramjam.snappy.decompress_raw(block)
    except Exception as error:  # the binding has changed its exception type between releases
        raise RecordsDamaged(f"damaged compressed data: {error}") from error


_COMPRESSORS: dict[int, Callable[[Buffer, int], bytes]] = {
    Codec.GZIP: _gzip_compress,
    Codec.SNAPPY: _snappy_compress,
    Codec.LZ4: _lz4_compress,
    Codec.ZSTD: _zstd_compress,
}
_DECOMPRESSORS: dict[int, Callable[[memoryview, int], Iterator[bytes]]] = {
    Codec.GZIP: _gzip_chunks,
    Codec.SNAPPY: _snappy_chunks,
    Codec.LZ4: _lz4_chunks,
    Codec.ZSTD: _zstd_chunks,
}
