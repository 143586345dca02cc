"""kafka-python 3.x."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contract import ClientContract
from drivers.kafka_python import KafkaPython3

if TYPE_CHECKING:
    from drivers.base import Driver


class TestKafkaPython(ClientContract):
    @classmethod
    def open_driver(cls, bootstrap: str) -> Driver:
        return KafkaPython3(bootstrap)
