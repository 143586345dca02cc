"""Tracebacks of errors for the user that end at the call of a public method."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from kcompat.errors import KcompatError

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)

FOR_USERS: Final = (KcompatError, TimeoutError)
"""Errors that a sentence explains completely. Other exceptions are faults of the broker, and keep their
frames.
"""

__unittest = True  # unittest leaves the frames of this module out of failures

_SPECIAL: Final = frozenset({"__init__", "__enter__", "__exit__", "__aenter__", "__aexit__"})


def short_tracebacks(cls: C) -> C:
    """Decorate a class: an error for the user that a public method or property raises shows neither the
    frames below that call nor the errors that led to it.
    """
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        if name.startswith("_") and name not in _SPECIAL:
            continue
        if inspect.isfunction(member):
            setattr(cls, name, short_traceback(member))
        elif isinstance(member, property) and member.fget is not None:
            setattr(cls, name, member.getter(short_traceback(member.fget)))
    return cls


def short_traceback(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate one public function as `short_tracebacks` does with the methods of a class."""
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def kcompat_async(*args: P.args, **kwargs: P.kwargs) -> Any:
            __tracebackhide__ = True  # pytest leaves this frame out
            try:
                return await function(*args, **kwargs)
            except FOR_USERS as error:
                raise error.with_traceback(None) from None

        return kcompat_async  # type: ignore[return-value]  # R is the coroutine here

    @wraps(function)
    def kcompat(*args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True  # pytest leaves this frame out
        try:
            return function(*args, **kwargs)
        except FOR_USERS as error:
            raise error.with_traceback(None) from None

    return kcompat
