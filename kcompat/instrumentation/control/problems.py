"""Errors of the control port as problem details (RFC 9457): a status, and one sentence for a person."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Final

import msgspec

from kcompat.errors import KcompatError, UsageError

logger = logging.getLogger(__name__)

MEDIA_TYPE: Final = "application/problem+json"


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """The reason why a request was refused."""

    status: int
    title: str
    detail: str
    """One sentence: what is wrong and, unless that is obvious, how to correct it."""


class ProblemError(KcompatError):
    """Error of a request that cannot be served, with the HTTP status for it."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


def problem(status: int, detail: str) -> Problem:
    """Return a problem with the title that HTTP gives to its status."""
    return Problem(status, HTTPStatus(status).phrase, detail)


def not_understood(error: msgspec.MsgspecError) -> str:
    """Return the sentence about a request that is not of its operation's type."""
    return f"The request is not understood: {error}"


def problem_of(error: Exception) -> Problem:
    """Return the problem that an exception of an operation stands for; log an unexpected exception."""
    match error:
        case ProblemError():
            return problem(error.status, str(error))
        case msgspec.MsgspecError():
            return problem(HTTPStatus.BAD_REQUEST, not_understood(error))
        case UsageError():
            return problem(HTTPStatus.BAD_REQUEST, str(error))
        case KcompatError():
            return problem(HTTPStatus.CONFLICT, str(error))
        case TimeoutError():
            return problem(HTTPStatus.GATEWAY_TIMEOUT, str(error) or "the request took too long")
    logger.error("The control port met a fault it did not expect", exc_info=error)
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "the broker met a fault, which its log describes")
