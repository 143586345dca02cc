"""A broker that serves imports what it has not been asked for, one handler at a time."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.api.registry import SERVED, Served
from kcompat.net.answers import Mode
from kcompat.node.late_imports import RETRY_MS, LateImports, without_refused
from kcompat.protocol.api_keys import ApiKey
from support.asking import services_of
from support.eventually import limit_s
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KEYS = (ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.METADATA)


def never_called(_context: Any, _request: Any) -> Any:
    raise AssertionError("only imported here")


class TokensOfBroker:
    """The delegation tokens of a broker, with a secret key or without."""

    def __init__(self, *, are_enabled: bool) -> None:
        self.are_enabled = are_enabled


class Importing:
    def __init__(self, failing: Sequence[ApiKey] = (), fault: type[Exception] = OSError) -> None:
        self.clock = VirtualClock(0)
        self.failing = failing
        self.fault = fault
        self.done: list[ApiKey] = []
        self.imports = LateImports(self.clock, [self._served(key) for key in KEYS])
        self.imports.start()

    def _served(self, key: ApiKey) -> Served:
        def handler() -> Callable[[Any, Any], Any]:
            if key in self.failing:
                raise self.fault
            self.done.append(key)
            self.clock.call_later(0, lambda: self.done.append(ApiKey.HEARTBEAT))
            return never_called

        return Served(key, handler, 0, 1, Mode.BLOCKING, frozenset())


def test_what_waits_meanwhile_has_its_turn_after_each_of_them() -> None:
    importing = Importing()
    importing.clock.advance(0)
    assert importing.done == [each for key in KEYS for each in (key, ApiKey.HEARTBEAT)]
    assert importing.clock.pending == 0


@pytest.mark.parametrize("has_them", [True, False])
def test_handlers_of_what_is_refused_are_left_out(has_them: bool) -> None:
    tokens = TokensOfBroker(are_enabled=has_them)
    services = services_of(acls=object() if has_them else None, tokens=tokens)
    keys = {api.key for api in SERVED} - {api.key for api in without_refused(SERVED, services)}
    assert len(keys) == (0 if has_them else 7)
    assert all("ACLS" in key.name or "DELEGATION_TOKEN" in key.name for key in keys)


@pytest.mark.parametrize(("fault", "lines"), [(OSError, 0), (ModuleNotFoundError, len(KEYS))])
def test_what_cannot_be_read_now_is_read_later(
    caplog: pytest.LogCaptureFixture, fault: type[Exception], lines: int
) -> None:
    importing = Importing(KEYS, fault)
    for _ in range(10):
        importing.clock.advance(RETRY_MS)
    assert importing.done == []
    assert len(caplog.messages) == lines
    importing.failing = ()
    importing.clock.advance(RETRY_MS)
    assert {key for key in importing.done if key in KEYS} == {*KEYS}


def test_one_that_cannot_be_read_does_not_keep_others_out() -> None:
    importing = Importing(KEYS[:1], ModuleNotFoundError)
    importing.clock.advance(RETRY_MS)
    assert [key for key in importing.done if key in KEYS] == [*KEYS[1:]]
    importing.imports.stop()


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

refused = "_ACLS", "DELEGATION_TOKEN"
wanted = [api.key.name for api in SERVED if not api.key.name.endswith(refused)]
wanted = {f"kcompat.api.{name.lower()}" for name in wanted}
with Broker():
    while not wanted <= set(sys.modules):
        time.sleep(0.001)
print("all of them")
"""
