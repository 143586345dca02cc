"""confluent-kafka 2.16."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contract import ClientContract
from drivers.confluent import Confluent

if TYPE_CHECKING:
    from drivers.base import Driver


class TestConfluent(ClientContract):
    @classmethod
    def open_driver(cls, bootstrap: str) -> Driver:
        return Confluent(bootstrap)
