"""A broker does with what every system has: it starts, stores, serves, compacts and starts again."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from support.eventually import limit_s

if TYPE_CHECKING:
    from pathlib import Path

WITHOUT = """
import os, select
del select.epoll, os.sendfile, os.posix_fallocate, os.fdatasync
"""

PROGRAM = """
import sys
from kcompat import Broker
from kcompat.net.admin_socket import AdminSocketClient
from kcompat.log.cleaner.cleaner import Compacted
from kcompat.log.cleaner.watch import Progress
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.raw_client import RawClient
from support.raw_requests import create_topic, produce, read_all

def connected(broker):
    host, _, port = broker.bootstrap_servers.rpartition(":")
    return RawClient((host, int(port)))

def read(broker):
    with connected(broker) as client:
        return [(bytes(record.key), len(record.value)) for record in read_all(client, "t")]

def compact():
    with AdminSocketClient.connect(sys.argv[1]) as admin:
        return [answer for answer in admin.ask("compact", "t", Compacted | Progress)]

with Broker(data_dir=sys.argv[1]) as broker:
    with connected(broker) as client:
        configs = {"cleanup.policy": "compact", "segment.bytes": "200000"}
        assert create_topic(client, "t", configs=configs) == 0
        for n in range(6):
            batch = build_batch([Record(0, 1_700_000_000_000, b"%d" % (n % 2), bytes(90_000))])
            assert produce(client, "t", batch).error_code == 0
    assert read(broker) == [(b"%d" % (n % 2), 90_000) for n in range(6)]
    assert compact()
    kept = read(broker)
    assert len(kept) < 6
with Broker(data_dir=sys.argv[1]) as broker:
    assert read(broker) == kept
assert "kcompat.net.loop_poller" in sys.modules
print("epoll", "kcompat.net.epoll" in sys.modules)
"""


@pytest.mark.parametrize("prelude", ["", WITHOUT])
def test_the_life_of_a_broker(prelude: str, tmp_path: Path) -> None:
    portable = "" if prelude else "1"  # what is not there need not be left out
    answer = subprocess.run(
        [sys.executable, "-c", prelude + PROGRAM, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "KCOMPAT_PORTABLE": portable},
        capture_output=True,
        text=True,
        check=False,
        timeout=limit_s(60),
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == "epoll False\n"
