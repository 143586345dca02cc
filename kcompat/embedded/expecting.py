"""The context manager of `expects`.

Its frames are left out of tracebacks by pytest (`__tracebackhide__`) and unittest (`__unittest`), so that a
failure points at the `with` statement of the test.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kcompat.embedded.tracebacks import short_tracebacks

if TYPE_CHECKING:
    from types import TracebackType

    from kcompat.embedded.thread import LoopThread
    from kcompat.instrumentation.brokers import Brokers
    from kcompat.instrumentation.expectations import Wanted
    from kcompat.instrumentation.records import Record

__tracebackhide__ = True
__unittest = True


@short_tracebacks
class Expecting:
    """Context manager of a block in which records are expected; its value is the list of the records that
    arrived.
    """

    def __init__(self, thread: LoopThread, brokers: Brokers, wanted: Wanted) -> None:
        self._thread = thread
        self._brokers = brokers
        self._wanted = wanted
        self._got: list[Record] = []

    def __enter__(self) -> list[Record]:
        from kcompat.instrumentation.expectations import begin

        self._got = []
        self._expectation = self._thread.call(begin(self._brokers, self._wanted))
        return self._got

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        complaint = None if kind else self._settle()
        if complaint is not None:
            raise AssertionError(complaint)

    async def __aenter__(self) -> list[Record]:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        complaint = None if kind else await asyncio.to_thread(self._settle)
        if complaint is not None:
            raise AssertionError(complaint)

    def _settle(self) -> str | None:
        """Wait for the records, add them to the list of the block, and return the error text, or None."""
        complaint = self._thread.call(self._expectation.complaint())
        self._got += self._expectation.found
        return complaint
