from __future__ import annotations

import inspect
import traceback
from typing import Any

import pytest

from kcompat.embedded.tracebacks import short_traceback, short_tracebacks
from kcompat.errors import UsageError


def deep(error: Exception) -> None:
    raise error from ValueError("a cause")


class Inherited:
    def inherited(self, error: Exception) -> None:
        deep(error)


@short_tracebacks
class Face(Inherited):
    def method(self, error: Exception) -> None:
        """Raise the error."""
        deep(error)

    def _internal(self, error: Exception) -> None:
        deep(error)

    async def __aenter__(self) -> None:
        deep(UsageError("as told"))

    @property
    def prop(self) -> None:
        """Value of the property."""
        deep(UsageError("as told"))


def frames(error: BaseException) -> list[str]:
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


@pytest.mark.parametrize("error", [UsageError("as told"), TimeoutError("as told")], ids=repr)
@pytest.mark.parametrize("name", ["method", "inherited"])
def test_errors_for_users_end_at_the_public_method(name: str, error: Exception) -> None:
    with pytest.raises(type(error), match="as told") as raised:
        getattr(Face(), name)(error)
    assert frames(raised.value)[1:] == ["kcompat"]
    assert "a cause" not in "".join(traceback.format_exception(raised.value))


async def test_properties_and_coroutines_are_public_too() -> None:
    with pytest.raises(UsageError) as raised:
        _ = Face().prop
    assert frames(raised.value)[1:] == ["kcompat"]
    with pytest.raises(UsageError) as raised:
        await Face().__aenter__()
    assert frames(raised.value)[1:] == ["kcompat_async"]


def test_faults_of_the_broker_keep_their_frames() -> None:
    with pytest.raises(AssertionError) as raised:
        Face().method(AssertionError("a fault"))
    assert frames(raised.value)[-2:] == ["method", "deep"]
    assert isinstance(raised.value.__cause__, ValueError)
    with pytest.raises(UsageError) as internal:
        Face()._internal(UsageError("as told"))
    assert frames(internal.value)[-1] == "deep"


def test_what_a_reader_of_the_class_sees_stays() -> None:
    member: Any = Face.method
    assert (member.__name__, member.__doc__) == ("method", "Raise the error.")
    assert list(inspect.signature(member).parameters) == ["self", "error"]
    assert inspect.getdoc(Face.prop) == "Value of the property."
    assert short_traceback(len)([1]) == 1
