"""kafka-python 2.0.2, in a virtual environment of its own."""

from __future__ import annotations

from contract import ClientContract
from drivers.remote import Remote
from old_venv import open_in_venv


class TestKafkaPython2(ClientContract):
    @classmethod
    def open_driver(cls, bootstrap: str) -> Remote:
        return open_in_venv("kafka-python-2", "kafka_python", "KafkaPython2", bootstrap, False)
