"""confluent-kafka 2.16."""

from __future__ import annotations

from contract import ClientContract
from drivers.base import Driver
from drivers.confluent import Confluent


class TestConfluent(ClientContract):
    @classmethod
    def open_driver(cls, bootstrap: str) -> Driver:
        return Confluent(bootstrap)
