"""Joining of small pieces that are sent together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from kcompat.net.out_queue import SENDFILE_MIN, TruncatedRangeError, joined

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO
    from pathlib import Path

    from kcompat.net.answers import Piece


class Range(NamedTuple):
    """A `FileRange` of these tests."""

    file: FileIO
    position: int
    length: int

    def __len__(self) -> int:
        return self.length

    def fileno(self) -> int:
        return self.file.fileno()


class Made:
    """A `LazyPiece` of these tests."""

    def __len__(self) -> int:
        return 1

    def next_piece(self) -> bytes:
        raise AssertionError("it is made while it is sent")


@pytest.fixture
def file(tmp_path: Path) -> Iterator[FileIO]:
    with (tmp_path / "log").open("w+b", buffering=0) as raw:
        raw.write(bytes(range(100)) + bytes(SENDFILE_MIN))
        yield raw


def test_short_ranges_go_along_with_their_neighbours(file: FileIO) -> None:
    pieces: list[Piece] = [b"head", Range(file, 10, 3), memoryview(b"tail")]
    assert joined(pieces) == b"head\x0a\x0b\x0ctail"


def test_long_ranges_are_left_to_the_system(file: FileIO) -> None:
    assert joined([b"head", Range(file, 10, SENDFILE_MIN - 1)]) is not None
    assert joined([b"head", Range(file, 10, SENDFILE_MIN)]) is None


def test_what_is_made_while_it_is_sent_is_not_made_before() -> None:
    assert joined([b"head", Made()]) is None


def test_a_range_that_the_file_does_not_hold_is_no_answer(file: FileIO) -> None:
    with pytest.raises(TruncatedRangeError):
        joined([Range(file, SENDFILE_MIN + 90, 20)])
