"""A fault that a test has started."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Protocol, Self

from kcompat.embedded.tracebacks import short_tracebacks

if TYPE_CHECKING:
    from types import TracebackType

    from kcompat.embedded.thread import LoopThread


class AnyFault(Protocol):
    """A fault of any kind, used on the event loop of its broker."""

    @property
    def is_in_force(self) -> bool:
        """Whether the fault is still active."""

    @property
    def struck(self) -> int:
        """Number of requests or operations that the fault has affected."""

    def end(self) -> None:
        """End the fault."""


class Removable(ABC):
    """Base class of a fault or setting that ends by `remove`, or at the end of a `with` block."""

    @abstractmethod
    def remove(self) -> None:
        """End the fault or setting."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.remove()


@short_tracebacks
class Fault(Removable):
    """A fault that is active from the call that returned it until `remove`, or the end of a `with` block."""

    def __init__(self, thread: LoopThread, fault: AnyFault) -> None:
        self._thread = thread
        self._fault = fault

    @property
    def struck(self) -> int:
        """Number of requests that the fault has affected, or of operations on files, or of partitions with a
        hanging transaction.
        """
        return self._fault.struck  # not on the loop, which may wait for a slow disk

    def remove(self) -> None:
        """End the fault. Delayed requests are served now; connections with dropped answers are closed. Does
        nothing if the fault has ended, or the broker has stopped.
        """
        if self._thread.is_here:
            self._thread.do(self._fault.end)

    def __repr__(self) -> str:
        ended = "" if self._fault.is_in_force and self._thread.is_here else ", over"
        return f"<fault: {self._fault}, struck {self.struck}{ended}>"
