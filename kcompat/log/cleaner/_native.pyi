from collections.abc import Callable

from kcompat.log.cleaner._python import Table
from kcompat.records._python import Buffer

def move(old: Table, new: Table, /) -> None: ...
def put(table: Table, body: Buffer, count: int, base_offset: int, first_offset: int, /) -> int: ...
def keep(
    table: Table,
    body: Buffer,
    count: int,
    base_offset: int,
    base_timestamp: int,
    latest: int,
    keeps_tombstones: int,
    /,
) -> tuple[int, int, int, Buffer] | None: ...
def rebase(body: Buffer, count: int, shift: int, /) -> bytes | None: ...
def put_plain(
    table: Table,
    crc: Callable[[memoryview], int],
    chunk: memoryview,
    position: int,
    room: int,
    first_offset: int,
    /,
) -> tuple[int, int, int]: ...
def keep_plain(
    table: Table,
    crc: Callable[[memoryview], int],
    chunk: memoryview,
    position: int,
    latest: int,
    now_ms: int,
    upper_offset: int,
    /,
) -> tuple[int, int, int, bytes, list[tuple[int, int, int]]]: ...
