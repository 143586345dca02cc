"""Faults on purpose, as a broker inside this process offers them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcompat.embedded.disk import Disk
    from kcompat.embedded.faults import Faults
    from kcompat.embedded.thread import LoopThread
    from kcompat.node.broker import BrokerNode
    from kcompat.node.environment import Environment


class Disturbed(ABC):
    """Base class of a broker in which faults can be put in force; what they need is imported at first use."""

    @abstractmethod
    def _running(self) -> tuple[LoopThread, BrokerNode]:
        """Return the thread and the running broker. Raises UsageError if it is not running."""

    @property
    def faults(self) -> Faults:
        """Errors, delays and lost answers on purpose."""
        from kcompat.embedded.faults import Faults

        return Faults(self._running)

    @property
    def disk(self) -> Disk:
        """Full, failed and slow disks on purpose."""
        from kcompat.embedded.disk import Disk

        return Disk(self._running)


def disturbable(environment: Environment) -> Environment:
    """Return an environment of brokers whose disks can fail."""
    from kcompat.instrumentation.disturbable_files import with_disturbable_files

    return with_disturbable_files(environment)
