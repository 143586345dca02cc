"""A broker without file descriptors serves the clients it has, and everybody again once there are some."""

from __future__ import annotations

import resource
import socket
from contextlib import ExitStack
from pathlib import Path

from kcompat.api.registry import SERVED
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.eventually import limit_s
from support.kcompat_broker import KcompatBroker
from support.raw_client import RawClient
from support.raw_requests import create_topic, produce, read_all

SPARE = 20
BATCH = bytes(build_batch([Record(0, -1, None, b"v")]))


def test_no_descriptor_is_left(tmp_path: Path) -> None:
    with KcompatBroker(data_dir=tmp_path) as broker, ExitStack() as stack:
        address = ("127.0.0.1", broker.port)
        client = stack.enter_context(RawClient(address))
        assert create_topic(client, "t") == 0
        assert produce(client, "t", BATCH).error_code == 0
        for (
            _
        ) in SERVED:  # the broker imports one more handler, for which it takes a descriptor, before the next
            with RawClient(address) as passing:
                passing.call(ApiVersionsRequest(), 0)

        limits = resource.prlimit(broker.pid, resource.RLIMIT_NOFILE)
        in_use = len(list(Path(f"/proc/{broker.pid}/fd").iterdir()))
        resource.prlimit(broker.pid, resource.RLIMIT_NOFILE, (in_use + SPARE, limits[1]))
        crowd = [socket.create_connection(address, timeout=limit_s(5)) for _ in range(2 * SPARE)]
        assert produce(client, "t", BATCH).error_code == 0
        assert create_topic(client, "unlucky") in (0, ErrorCode.KAFKA_STORAGE_ERROR)
        assert produce(client, "t", BATCH).error_code == 0
        assert len(list(read_all(client, "t"))) == 3

        for connection in crowd:
            connection.close()
        other = stack.enter_context(RawClient(address))
        assert produce(other, "t", BATCH).error_code == 0
        assert create_topic(other, "lucky") == 0
        assert produce(other, "lucky", BATCH).error_code == 0
    assert "Traceback" not in broker_log(tmp_path)


def broker_log(home: Path) -> str:
    return (home / "process.log").read_text()
