"""aiokafka 0.14."""

from __future__ import annotations

from contract import ClientContract
from drivers.aio import Aiokafka
from drivers.base import Driver


class TestAiokafka(ClientContract):
    @classmethod
    def open_driver(cls, bootstrap: str) -> Driver:
        return Aiokafka(bootstrap)
