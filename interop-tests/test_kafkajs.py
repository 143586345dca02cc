"""kafkajs 2.2.4 on Node."""

from __future__ import annotations

import shutil

import pytest

from contract import ClientContract
from drivers.remote import HERE, Remote
from support.places import CACHE


class TestKafkajs(ClientContract):
    @classmethod
    def open_driver(cls, bootstrap: str) -> Remote:
        if shutil.which("node") is None or not (CACHE / "node" / "node_modules" / "kafkajs").is_dir():
            pytest.skip("kafkajs is not there: install Node and run python interop-tests/fetch.py node")
        return Remote(["node", HERE / "kafkajs.js", bootstrap], null_header_values=False)
