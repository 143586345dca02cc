"""Promises: values and failures that come later, and callbacks that raise."""

from __future__ import annotations

import gc
import logging
from typing import TYPE_CHECKING, NoReturn

import pytest

from kcompat.promise import Promise, gather

if TYPE_CHECKING:
    from collections.abc import Callable


class BrokenError(Exception):
    """The error that callbacks of these tests raise."""


def broken(_: object) -> NoReturn:
    raise BrokenError


def exception_of(record: logging.LogRecord) -> type[BaseException] | None:
    assert record.exc_info is not None
    return record.exc_info[0]


def test_callbacks_run_in_order_with_the_value_before_and_after_it_is_there() -> None:
    promise, seen = Promise[int](), list[tuple[str, int]]()
    promise.then(lambda value: seen.append(("first", value)))
    promise.then(lambda value: seen.append(("second", value)))
    assert promise.complete(7)
    promise.then(lambda value: seen.append(("third", value)))
    assert seen == [("first", 7), ("second", 7), ("third", 7)]
    assert promise.value == 7


@pytest.mark.parametrize("settle", [lambda p: p.complete(2), lambda p: p.fail(BrokenError())])
def test_what_is_set_once_stays(settle: Callable[[Promise[int]], bool]) -> None:
    promise = Promise.resolved(1)
    assert not settle(promise)
    assert promise.value == 1


def test_a_raising_callback_is_logged_and_stops_neither_the_others_nor_the_one_who_completes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    promise, seen = Promise[int](), list[int]()
    promise.then(broken)
    promise.then(seen.append)
    promise.complete(3)
    assert seen == [3]
    [record] = caplog.records
    assert record.levelno == logging.ERROR
    assert exception_of(record) is BrokenError


def test_a_callback_that_raises_on_a_value_that_is_there_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    Promise.resolved(1).then(broken)
    assert [exception_of(record) for record in caplog.records] == [BrokenError]


def test_a_failure_reaches_those_who_asked_for_it_though_one_of_them_raises(
    caplog: pytest.LogCaptureFixture,
) -> None:
    promise, seen, error = Promise[object](), list[object](), BrokenError("this one")
    promise.then(seen.append)
    promise.then(seen.append, broken)
    promise.then(seen.append, lambda failure: seen.append(("failed", failure)))
    assert promise.fail(error)
    promise.then(seen.append, lambda failure: seen.append(("failed late", failure)))
    assert seen == [("failed", error), ("failed late", error)]
    assert len(caplog.records) == 1  # what `broken` raised


@pytest.mark.parametrize("is_early", [True, False])
def test_who_asks_for_failures_is_told_what_its_own_callback_raises(
    caplog: pytest.LogCaptureFixture, is_early: bool
) -> None:
    promise, seen = Promise[int](), list[Exception]()
    if is_early:
        promise.complete(1)
    promise.then(broken, seen.append)
    promise.complete(1)
    assert [type(error) for error in seen] == [BrokenError]
    assert not caplog.records


def test_the_value_of_a_failed_promise_raises_the_failure() -> None:
    promise = Promise[int]()
    promise.fail(BrokenError("this one"))
    with pytest.raises(BrokenError, match="this one"):
        _ = promise.value


def test_map_applies_the_function_when_the_value_comes_or_at_once() -> None:
    promise = Promise[int]()
    mapped = promise.map(str)
    assert not mapped.done
    promise.complete(5)
    assert mapped.value == "5"
    assert promise.map(lambda value: value + 1).value == 6


def test_an_exception_of_the_function_becomes_the_failure_of_the_mapped_promise_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    promise, failures = Promise[int](), list[object]()
    promise.map(broken).then(failures.append, failures.append)
    promise.complete(5)
    assert [type(failure) for failure in failures] == [BrokenError]
    assert promise.value == 5
    assert not caplog.records


def test_a_failure_passes_through_map_and_no_function_runs(caplog: pytest.LogCaptureFixture) -> None:
    promise, seen, error = Promise[object](), list[object](), BrokenError()
    promise.map(seen.append).map(seen.append).then(seen.append, lambda failure: seen.append(("end", failure)))
    promise.fail(error)
    assert seen == [("end", error)]
    assert not caplog.records


def test_a_callback_of_a_mapped_promise_that_raises_is_not_the_functions_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    promise, seen = Promise[int](), list[str]()
    mapped = promise.map(str)
    mapped.then(broken)
    mapped.then(seen.append)
    promise.complete(5)
    assert seen == ["5"]
    assert [exception_of(record) for record in caplog.records] == [BrokenError]


@pytest.mark.parametrize("is_early", [True, False])
def test_flat_map_waits_for_the_promise_that_the_function_returns(is_early: bool) -> None:
    first, second = Promise[str](), Promise[str]()
    if is_early:
        second.complete("two")
    flat = first.flat_map(lambda value: second.map(lambda other: (value, other)))
    assert not flat.done
    first.complete("one")
    second.complete("two")
    assert flat.value == ("one", "two")


def test_flat_map_fails_as_any_of_its_three_steps_fails(caplog: pytest.LogCaptureFixture) -> None:
    never = Promise[int]()
    outer_fails, inner_fails, function_raises = Promise[int](), Promise[int](), Promise[int]()
    inner = Promise[int]()
    failed = [
        outer_fails.flat_map(lambda _: never),
        inner_fails.flat_map(lambda _: inner),
        function_raises.flat_map(broken),
    ]
    outer_fails.fail(BrokenError())
    inner_fails.complete(1)
    inner.fail(BrokenError())
    function_raises.complete(1)
    for promise in failed:
        with pytest.raises(BrokenError):
            _ = promise.value
    assert not caplog.records


@pytest.mark.parametrize("others", [0, 2])
def test_a_failure_that_nobody_asked_for_is_logged_once(
    caplog: pytest.LogCaptureFixture, others: int
) -> None:
    promise, seen = Promise[int](), list[int]()
    for _ in range(others):
        promise.then(seen.append)  # asks for the value only
    promise.fail(BrokenError("unheard"))
    del promise
    gc.collect()
    [record] = caplog.records
    assert "BrokenError: unheard" in str(record.exc_text)
    assert not seen


def test_a_failure_at_the_end_of_a_chain_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    Promise.resolved(1).map(broken).map(str).map(str)
    gc.collect()
    [record] = caplog.records
    assert "raise BrokenError" in str(record.exc_text)


def test_gather_gives_all_values_in_order_when_the_last_has_come() -> None:
    first, second = Promise[int](), Promise[int]()
    gathered = gather([first, Promise.resolved(2), second])
    second.complete(3)
    assert not gathered.done
    first.complete(1)
    assert gathered.value == [1, 2, 3]
    assert gather([]).value == []


def test_gather_fails_with_the_first_failure(caplog: pytest.LogCaptureFixture) -> None:
    first, second = Promise[int](), Promise[int]()
    gathered = gather([first, second])
    second.fail(BrokenError("second"))
    first.fail(BrokenError("first"))
    with pytest.raises(BrokenError, match="second"):
        _ = gathered.value
    del first, second, gathered
    gc.collect()
    assert not caplog.records
