"""How the parameters of a request are read from its path, query and body."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

import msgspec
import pytest

from kcompat.instrumentation.control.operation import HttpOperation, Nothing
from kcompat.instrumentation.control.problems import ProblemError

if TYPE_CHECKING:
    from kcompat.instrumentation.control.control import Control


class Wanted(msgspec.Struct, forbid_unknown_fields=True):
    topic: str
    count: int = 1
    is_new: bool = False


async def do(control: Control, wanted: Wanted) -> None:
    """Do what is wanted."""


READ = HttpOperation("GET", "/topics/{topic}/things", do, Wanted, None)
WRITE = HttpOperation("POST", "/topics/{topic}/things", do, Wanted, None, HTTPStatus.CREATED)
PLAIN = HttpOperation("POST", "/things", do, Nothing, None)


def test_the_query_of_a_get_is_text_in_which_numbers_are_found() -> None:
    wanted = READ.read({"topic": "a"}, {"count": "3", "is_new": "true"}, b"")
    assert wanted == Wanted("a", 3, True)


def test_the_body_of_a_post_is_json_in_which_text_is_no_number() -> None:
    assert WRITE.read({"topic": "a"}, {}, b'{"count": 3}') == Wanted("a", 3)
    with pytest.raises(msgspec.ValidationError, match=r"Expected `int`, got `str` - at `\$.count`"):
        WRITE.read({"topic": "a"}, {}, b'{"count": "3"}')


@pytest.mark.parametrize("body", [b"", b"  ", b"{}"])
def test_a_body_without_parameters_may_be_left_out(body: bytes) -> None:
    assert PLAIN.read({}, {}, body) == Nothing()
    assert WRITE.read({"topic": "a"}, {}, body) == Wanted("a")


@pytest.mark.parametrize("body", [b"[]", b"1", b"{", b"\xff", b'{"a": 1} {}'])
def test_a_body_that_is_no_object_of_json_is_refused(body: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        PLAIN.read({}, {}, body)


def test_json_of_too_many_levels_is_refused() -> None:
    with pytest.raises(ProblemError, match="too many levels: nest it less deeply") as deep:
        WRITE.read({"topic": "a"}, {}, b'{"count": ' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    assert deep.value.status == HTTPStatus.BAD_REQUEST


def test_a_parameter_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ProblemError, match=r"unknown field `cuont`\. Its parameters are: topic"):
        READ.read({"topic": "a"}, {"cuont": "3"}, b"")


def test_a_parameter_in_the_wrong_place_is_refused() -> None:
    with pytest.raises(ProblemError, match="the path has topic already") as twice:
        WRITE.read({"topic": "a"}, {}, b'{"topic": "b"}')
    assert twice.value.status == HTTPStatus.BAD_REQUEST
    with pytest.raises(ProblemError, match="belong into its body"):
        WRITE.read({"topic": "a"}, {"count": "3"}, b"")
