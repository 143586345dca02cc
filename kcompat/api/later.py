"""Answers that may come later: turning what a part of the broker promises into a response."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kcompat.promise import Promise

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
R = TypeVar("R")


def respond(promise: Promise[T], response: Callable[[T], R]) -> R | Promise[R]:
    """`response(value)` now if the value is there, else a promise of it."""
    if promise.done:
        return response(promise.value)
    later: Promise[R] = Promise()
    promise.then(lambda value: later.complete(response(value)))
    return later
