"""Readers in C agree with the pure-Python ones on good bytes that are cut at each place.

The memory ends at the cut: `tests/sanitize.py` sees that no reader looks further.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pytest
from crc32c import crc32c

from kcompat.log.cleaner import _python as cleaner
from kcompat.records import _conversion_python as converter
from kcompat.records import _python as scanner
from kcompat.records.batch import build_batch
from kcompat.records.layout import HEADER_SIZE
from kcompat.records.message_set import encode_message
from kcompat.records.record import Record
from support.fuzzing import exact

if TYPE_CHECKING:
    from collections.abc import Callable

native_cleaner: Any = pytest.importorskip("kcompat.log.cleaner._native", exc_type=ImportError)
native_converter: Any = pytest.importorskip("kcompat.records._conversion", exc_type=ImportError)
native_scanner: Any = pytest.importorskip("kcompat.records._native", exc_type=ImportError)

FAR = 2**62
BATCH = bytes(
    build_batch(
        [
            Record(0, 5, b"key", b"value", (("name", b"header"), ("none", None))),
            Record(1, 6, None, bytes(200)),
            Record(2, 7, b"k" * 100, None),
        ]
    )
)
BODY = BATCH[HEADER_SIZE:]
BATCHES = [bytes(build_batch([Record(0, 5, bytes([at]), bytes(at))], base_offset=at)) for at in range(5)]


def messages(magic: int) -> bytes:
    return b"".join(encode_message(at, magic, 0, 5, bytes(at), bytes(10 * at)) for at in range(4))


def table() -> array[int]:
    return array("Q", bytes(24 * 211))


READERS: dict[str, tuple[bytes, Callable[[Any, Any], Any]]] = {
    "scan": (BODY, lambda module, data: module.scan(data, 0, 0)),
    "read": (BODY, lambda module, data: module.read(data, 0, 10, 0, 0)),
    "inspect": (BATCH, lambda module, data: module.inspect(data, FAR, 5, FAR, FAR)),
    "write_messages": (BODY, lambda module, data: module.write_messages(data, 0, FAR, 1, 0, 0, 0, 0, 0)),
    "write_records 0": (
        messages(0),
        lambda module, data: module.write_records(data, 0, FAR, FAR, 0, 0, 0, 0, -FAR, FAR),
    ),
    "write_records 1": (
        messages(1),
        lambda module, data: module.write_records(data, 0, FAR, FAR, 1, 0, 0, 0, -FAR, FAR),
    ),
    "write_wrapper": (BODY, lambda module, data: module.write_wrapper(data, 0, 1, 1, 5)),
    "put": (BODY, lambda module, data: module.put(table(), data, 3, 0, 0)),
    "keep": (BODY, lambda module, data: module.keep(table(), data, 3, 0, 0, FAR, 1)),
    "rebase": (BODY, lambda module, data: module.rebase(data, 3, 2**40)),
}
MODULES = {
    **dict.fromkeys(("scan", "read", "inspect"), (native_scanner, scanner)),
    **dict.fromkeys(
        ("write_messages", "write_records 0", "write_records 1", "write_wrapper"),
        (native_converter, converter),
    ),
    **dict.fromkeys(("put", "keep", "rebase"), (native_cleaner, cleaner)),
}


@pytest.mark.parametrize("name", READERS)
def test_what_is_cut_anywhere_is_read_as_far_as_it_goes(name: str) -> None:
    whole, call = READERS[name]
    native, python = MODULES[name]
    for size in range(len(whole) + 1):
        assert call(native, exact(whole[:size])) == call(python, whole[:size]), size


def test_plain_batches_are_dealt_with_up_to_one_that_is_cut() -> None:
    ends = [*accumulate(map(len, BATCHES), initial=0)]
    whole = b"".join(BATCHES)
    for size in range(len(whole) + 1):
        chunk = exact(whole[:size])
        count = bisect_right(ends, size) - 1
        seen = native_cleaner.put_plain(table(), crc32c, chunk, 0, FAR, 0)
        assert seen == (ends[count], count, count - 1)
        kept = native_cleaner.keep_plain(table(), crc32c, chunk, 0, FAR, 0, FAR)
        assert kept[:4] == (ends[count], count, count, whole[: ends[count]])
