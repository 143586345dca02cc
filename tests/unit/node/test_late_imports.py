"""A broker that serves imports what it has not been asked for, one handler at a time."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

from kcompat.api.registry import Served
from kcompat.net.answers import Mode
from kcompat.node.late_imports import RETRY_MS, LateImports
from kcompat.protocol.api_keys import ApiKey
from support.eventually import limit_s
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable

KEYS = (ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.METADATA)


def never_called(_context: Any, _request: Any) -> Any:
    raise AssertionError("only imported here")


class Importing:
    def __init__(self, *, is_failing: bool = False) -> None:
        self.clock = VirtualClock(0)
        self.is_failing = is_failing
        self.done: list[ApiKey] = []
        self.imports = LateImports(self.clock, [self._served(key) for key in KEYS])
        self.imports.start()

    def _served(self, key: ApiKey) -> Served:
        def handler() -> Callable[[Any, Any], Any]:
            if self.is_failing:
                raise OSError
            self.done.append(key)
            self.clock.call_later(0, lambda: self.done.append(ApiKey.HEARTBEAT))
            return never_called

        return Served(key, handler, 0, 1, Mode.BLOCKING, frozenset())


def test_what_waits_meanwhile_has_its_turn_after_each_of_them() -> None:
    importing = Importing()
    importing.clock.advance(0)
    assert importing.done == [each for key in KEYS for each in (key, ApiKey.HEARTBEAT)]
    assert importing.clock.pending == 0


def test_what_cannot_be_read_now_is_read_later() -> None:
    importing = Importing(is_failing=True)
    importing.clock.advance(RETRY_MS)
    assert importing.done == []
    importing.is_failing = False
    importing.clock.advance(RETRY_MS)
    assert [key for key in importing.done if key in KEYS] == [*KEYS]


def test_none_is_imported_after_a_stop() -> None:
    importing = Importing()
    importing.imports.stop()
    importing.clock.advance(0)
    assert importing.done == []


def test_a_broker_imports_all_of_them_by_itself() -> None:
    """In a process of its own, as handlers are imported once in each."""
    ended = subprocess.run(
        [sys.executable, "-c", BROKER], capture_output=True, text=True, check=False, timeout=limit_s(60)
    )
    assert (ended.stdout, ended.stderr) == ("all of them\n", "")


BROKER = """
import sys, time
from kcompat import Broker
from kcompat.api.registry import SERVED

wanted = {f"kcompat.api.{served.key.name.lower()}" for served in SERVED}
with Broker():
    while not wanted <= set(sys.modules):
        time.sleep(0.001)
print("all of them")
"""
