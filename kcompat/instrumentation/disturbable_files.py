"""A file port whose operations a fault can change while a broker uses it, at no cost without a fault."""

from __future__ import annotations

import threading
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec import structs

from kcompat.log.files import Files, OpenFile

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.node.environment import Environment

OPERATIONS: Final = (
    "write",
    "open",
    "open_existing",
    "open_readonly",
    "truncate",
    "preallocate",
    "sync",
    "sync_directory",
    "sync_filesystem",
    "size",
    "modified_ms",
    "list",
    "make_directory",
    "make_directories",
    "volume_bytes",
    "rename",
    "remove",
    "remove_empty_directory",
    "remove_tree",
)
"""Names of the operations of `Files` that a disturbance may change."""
MOST_REMEMBERED: Final = 100
"""Maximum number of disturbances that a file port remembers."""


class Disturbance(Protocol):
    """A reason for which operations on files fail or take time."""

    def meet(self, operation: str, place: str | int) -> None:
        """Handle an operation on a path or a file descriptor before it runs: return so that it continues, or
        raise OSError. May be called on any thread.
        """

    def hasten(self) -> None:
        """End the disturbance if it only takes time. May be called on any thread."""


class DisturbableFiles(Files):
    """File port of one broker, whose operations are passed to disturbances first.

    The operations of this object are replaced only while there are disturbances.
    """

    def __init__(self) -> None:
        self._disturbances: tuple[Disturbance, ...] = ()
        self._change = threading.Lock()
        self.history: deque[Disturbance] = deque(maxlen=MOST_REMEMBERED)
        """The last disturbances that were added, including those that have ended."""

    def disturb(self, disturbance: Disturbance) -> None:
        """Pass operations to a disturbance from now on. May be called on any thread."""
        with self._change:
            if not self._disturbances:
                for name in OPERATIONS:
                    self.__dict__[name] = partial(self._operate, name, getattr(self, name))
            self._disturbances = (*self._disturbances, disturbance)
            self.history.append(disturbance)

    def calm(self, disturbance: Disturbance) -> None:
        """Stop passing operations to a disturbance; do nothing if it is unknown. May be called on any
        thread.
        """
        with self._change:
            self._disturbances = tuple(each for each in self._disturbances if each is not disturbance)
            if not self._disturbances:
                for name in OPERATIONS:
                    self.__dict__.pop(name, None)

    def hasten(self) -> None:
        """End the disturbances that only take time. May be called on any thread."""
        for disturbance in self._disturbances:
            disturbance.hasten()

    @property
    def disturbances(self) -> tuple[Disturbance, ...]:
        """The disturbances that operations are passed to, in the order in which they were added."""
        return self._disturbances

    def _operate(self, name: str, operate: Callable[..., Any], place: Any, *rest: Any, **named: Any) -> Any:
        places = place if isinstance(place, (list, tuple)) else [place]
        for each in places:
            for disturbance in self._disturbances:
                disturbance.meet(name, each.fd if isinstance(each, OpenFile) else each)
        return operate(place, *rest, **named)


def with_disturbable_files(environment: Environment) -> Environment:
    """Return an environment whose file port accepts disturbances."""
    return structs.replace(environment, files=DisturbableFiles())
