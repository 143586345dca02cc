"""Interceptors of frames."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING, cast

import pytest

from kcompat.net.interception import Interception

if TYPE_CHECKING:
    from kcompat.net.answers import Answer, Connection
    from kcompat.net.interception import Serve

CONNECTION = cast("Connection", object())


class Echo:
    max_frame: int | None = 7

    def on_frame(self, _connection: Connection, frame: memoryview) -> Answer:
        return [bytes(frame)]

    def ends_wait(self, frame: memoryview) -> bool:
        return bytes(frame) == b"end"


class Wrapped:
    """Interceptor that puts its letter around each answer, or answers with its letter alone."""

    def __init__(self, letter: bytes, *, serves: bool = True) -> None:
        self._letter = letter
        self._serves = serves

    def intercept(self, serve: Serve, connection: Connection, frame: memoryview) -> Answer:
        if not self._serves:
            return [self._letter]
        answer = serve(connection, frame)
        assert isinstance(answer, list)
        return [self._letter, *answer, self._letter]


@pytest.fixture
def interception() -> Interception:
    return Interception()


def ask(handler: object) -> bytes:
    answer = cast("Echo", handler).on_frame(CONNECTION, memoryview(b"."))
    assert isinstance(answer, list)
    return b"".join(answer)


def test_the_handler_itself_answers_where_there_is_no_interceptor(interception: Interception) -> None:
    echo = Echo()
    handler = interception.around(echo)
    assert handler.on_frame == echo.on_frame
    assert handler.max_frame == 7
    assert handler.ends_wait(memoryview(b"end"))


def test_the_first_interceptor_is_outermost(interception: Interception) -> None:
    handler = interception.around(Echo())
    first, second = Wrapped(b"1"), Wrapped(b"2")
    interception.add(first)
    interception.add(second)
    assert ask(handler) == b"12.21"
    interception.remove(first)
    assert ask(handler) == b"2.2"
    interception.remove(second)
    interception.remove(second)
    assert ask(handler) == b"."


def test_an_interceptor_may_answer_instead_of_the_handler(interception: Interception) -> None:
    handler = interception.around(Echo())
    interception.add(Wrapped(b"x", serves=False))
    assert ask(handler) == b"x"


def test_a_handler_that_comes_later_is_intercepted_too(interception: Interception) -> None:
    interception.add(Wrapped(b"1"))
    handlers = [interception.around(Echo()), interception.around(Echo())]
    assert [ask(handler) for handler in handlers] == [b"1.1"] * 2


def test_a_handler_that_is_used_no_more_is_forgotten(interception: Interception) -> None:
    echo = Echo()
    is_there = weakref.ref(echo)
    handler = interception.around(echo)
    interception.add(Wrapped(b"1"))
    del echo, handler
    gc.collect()
    assert is_there() is None
