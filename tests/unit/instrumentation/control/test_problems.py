"""Which status and sentence an error becomes."""

from __future__ import annotations

import logging
from http import HTTPStatus

import msgspec
import pytest

from kcompat.errors import RequestError, UsageError
from kcompat.instrumentation.control.problems import Problem, ProblemError, problem_of


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ProblemError(HTTPStatus.NOT_FOUND, "there is none"), Problem(404, "Not Found", "there is none")),
        (UsageError("give a name"), Problem(400, "Bad Request", "give a name")),
        (RequestError("A_NAME", "no"), Problem(409, "Conflict", "A_NAME: no")),
        (TimeoutError("too slow"), Problem(504, "Gateway Timeout", "too slow")),
        (
            msgspec.ValidationError("Expected `int`"),
            Problem(400, "Bad Request", "The request is not understood: Expected `int`"),
        ),
    ],
)
def test_an_error_of_the_caller(
    error: Exception, expected: Problem, caplog: pytest.LogCaptureFixture
) -> None:
    assert problem_of(error) == expected
    assert caplog.records == []


def test_an_error_that_nobody_expects_is_logged_and_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    assert problem_of(ZeroDivisionError("a secret")) == Problem(
        500, "Internal Server Error", "the broker met a fault, which its log describes"
    )
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.exc_info is not None
