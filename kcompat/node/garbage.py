"""Garbage collection around a restart in place, whose parts refer to each other in cycles.

Python frees them only when it collects the generation that they are in. A collection of the two young
generations takes a fraction of a millisecond; one of the oldest looks at every object of the program, which
takes 20 ms and more in a process with a test suite. Objects get into the oldest generation by surviving two
collections.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

YOUNG: Final = 1
"""Number of the oldest generation that a short collection looks at."""


@contextmanager
def no_collection() -> Iterator[None]:
    """Collect no garbage within the block. The parts of a broker are many objects that all survive, so that
    the collections that they trigger would take as long as the block, and find nothing.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def free_abandoned() -> None:
    """Free the parts that nothing refers to any more, before new ones are made.

    A collection later on would move the new ones towards the oldest generation, and fill it with parts that
    are garbage after the next restart.
    """
    gc.collect(YOUNG)
