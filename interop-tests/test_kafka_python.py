"""kafka-python 3.x."""

from __future__ import annotations

from contract import ClientContract
from drivers.base import Driver
from drivers.kafka_python import KafkaPython3


class TestKafkaPython(ClientContract):
    @classmethod
    def open_driver(cls, bootstrap: str) -> Driver:
        return KafkaPython3(bootstrap)
