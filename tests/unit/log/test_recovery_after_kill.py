"""kill -9 of a process that appends: what it acknowledged is there when the directory is opened again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

from kcompat.log.loader import create_log, open_log
from support.default_settings import log_settings

if TYPE_CHECKING:
    from pathlib import Path

APPEND_FOR_EVER = """
import sys
from kcompat.log.loader import open_log
from kcompat.records.batch import read_header
from support.default_settings import log_settings
from support.log_harness import make_batch

log = open_log(sys.argv[1], "t", 0, log_settings(segment_bytes=20_000, index_interval_bytes=500), now_ms=0)
sequence = max((producer.last_sequence for producer in log.producers), default=-1) + 1
while True:
    batch = memoryview(make_batch(2, producer_id=1, producer_epoch=0, base_sequence=sequence))
    result = log.append_as_leader(batch, read_header(batch), int(sys.argv[2]), 0)
    assert not result.error
    sequence += 2
    print(result.last_offset, flush=True)
"""

WITH_OUR_TOOLS = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def test_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    directory = tmp_path / "t-0"
    config = log_settings(segment_bytes=20_000, index_interval_bytes=500)
    create_log(directory, "t", 0, config, topic_id=bytes(16), now_ms=0).make()
    for life in range(3):
        command = [sys.executable, "-c", APPEND_FOR_EVER, str(directory), str(life)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=WITH_OUR_TOOLS) as child:
            assert child.stdout is not None
            for _ in range(300):
                child.stdout.readline()
            child.send_signal(signal.SIGKILL)
            acknowledged = [
                int(line) for line in child.stdout.read().splitlines(keepends=True) if line.endswith(b"\n")
            ]
        log = open_log(directory, "t", 0, config, now_ms=0)
        log.check_invariants()
        assert log.log_end_offset > max(acknowledged, default=0)
        assert log.log_end_offset > 600 * (life + 1) - 1
        assert log.producers[0].last_sequence == log.log_end_offset - 1
        assert log.epochs.latest == life
        assert [header.base_offset for header in log.local.headers(0)] == list(
            range(0, log.log_end_offset, 2)
        )
