"""The client contract with aiokafka 0.14."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contract import ClientContract
from drivers.aio import Aiokafka

if TYPE_CHECKING:
    from drivers.base import Driver


class TestAiokafka(ClientContract):
    @classmethod
    def open_driver(cls, bootstrap: str) -> Driver:
        return Aiokafka(bootstrap)
