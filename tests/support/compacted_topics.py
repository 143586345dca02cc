"""Topics that a whole broker compacts, and `kcompat compact` as a process."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Final

from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.eventually import limit_s
from support.raw_requests import create_topic, produce

if TYPE_CHECKING:
    from pathlib import Path

    from support.raw_client import RawClient

KEYS: Final = 5
ROUNDS: Final = 10
TIMEOUT_S: Final = 60


def create_compacted_topic(client: RawClient, name: str, segment_bytes: int = 1000) -> None:
    """A topic of one partition; in segments so small, a round of `fill` or two make one."""
    configs = {"cleanup.policy": "compact", "segment.bytes": str(segment_bytes)}
    assert create_topic(client, name, configs=configs) == 0


def fill(client: RawClient, topic: str, rounds: int = ROUNDS) -> None:
    """Give the same five keys new values, a batch each round: of ten rounds, offsets 45 to 49 must stay."""
    for number in range(rounds):
        records = [Record(0, 0, b"k%d" % key, b"%d" % number * 50) for key in range(KEYS)]
        assert produce(client, topic, build_batch(records)).error_code == 0


def fill_with_long_values(client: RawClient, topic: str, count: int, size: int) -> None:
    """One key over and over, a batch each time, with values of at least `size` bytes: long to compact."""
    for number in range(count):
        batch = build_batch([Record(0, 0, b"k", b"%d" % number * size)])
        assert produce(client, topic, batch).error_code == 0


def compact(directory: Path, *topics: str) -> subprocess.CompletedProcess[str]:
    """Run `kcompat compact` on a data directory; return its output and exit code."""
    command = [sys.executable, "-m", "kcompat", "compact", "--data-dir", str(directory), *topics]
    return subprocess.run(command, capture_output=True, text=True, timeout=limit_s(TIMEOUT_S), check=False)
