"""kafka-python 2.0.2, in a virtual environment of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contract import ClientContract
from old_venv import open_in_venv

if TYPE_CHECKING:
    from drivers.remote import Remote


class TestKafkaPython2(ClientContract):
    @classmethod
    def open_driver(cls, bootstrap: str) -> Remote:
        return open_in_venv("kafka-python-2", "kafka_python", "KafkaPython2", bootstrap, False)
