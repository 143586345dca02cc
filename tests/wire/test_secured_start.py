"""`kcompat start --brokers 3 --dev-tls --user`: the brokers reach each other by SASL_SSL, in one process or
in several, and let in no client without a login.
"""

from __future__ import annotations

import re
import ssl
from typing import TYPE_CHECKING

import pytest

from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.eventually import eventually
from support.raw_client import RawClient
from support.raw_requests import ACKS_ALL, create_topic, describe_topic, produce
from support.secured_brokers import PASSWORD, logged_in
from support.start_command import started

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.thorough("test_secured_cluster.py has three brokers, test_processes.py processes")

READY = re.compile(r"kcompat is listening on ([^ ]+) and stores in (.+)\n")
TOPIC = "t"


@pytest.mark.parametrize("processes", [(), ("--processes",)], ids=["one process", "processes"])
def test_brokers_replicate_over_sasl_and_tls(processes: tuple[str, ...], tmp_path: Path) -> None:
    secured = ("--dev-tls", "--user", f"alice:{PASSWORD}", "--override", "min.insync.replicas=3")
    options = ("--brokers", "3", "--port", "0", "--data-dir", "data", *secured, *processes)
    with started(*options, cwd=tmp_path) as process:
        assert process.stdout is not None
        ready = READY.fullmatch(process.stdout.readline())
        assert ready is not None, process.communicate()
        addresses = [(host, int(port)) for host, port in (each.split(":") for each in ready[1].split(","))]
        tls = ssl.create_default_context(cafile=str(tmp_path / "data" / "development-ca.pem"))

        def client(broker_id: int) -> RawClient:
            return logged_in(addresses[broker_id], "alice", tls)

        with RawClient(addresses[0], tls=tls) as stranger, pytest.raises(ConnectionError):
            stranger.call(MetadataRequest(topics=[]), 9)
        with client(0) as any_broker:
            controller = any_broker.call(MetadataRequest(topics=[]), 9).controller_id
        with client(controller) as controlling:
            assert create_topic(controlling, TOPIC, replicas=3) == 0

        def is_stored_by_all() -> bool:
            with client(controller) as controlling:
                leader = describe_topic(controlling, TOPIC).partitions[0].leader_id
            with client(leader) as leading:
                batch = build_batch([Record(0, 0, None, b"v")])
                return bool(produce(leading, TOPIC, batch, acks=ACKS_ALL).error_code == 0)

        eventually(is_stored_by_all, "all three brokers have the record")
