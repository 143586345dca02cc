"""The operations of the control port as an ASGI application."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from kcompat.instrumentation.control.openapi import PATH, as_text
from kcompat.instrumentation.control.problems import MEDIA_TYPE, ProblemError, problem, problem_of
from kcompat.observe.http_guard import Guarded

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from starlette.types import ASGIApp

    from kcompat.instrumentation.control.control import Control
    from kcompat.instrumentation.control.operation import HttpOperation
    from kcompat.instrumentation.control.problems import Problem

    Endpoint = Callable[[Request], Awaitable[Response]]

MAX_BODY: Final = 16 * 1024 * 1024
"""Maximum number of bytes of the body of a request."""
BODY_TIMEOUT_S: Final = 30.0
"""Seconds within which the body of a request has to arrive."""


def application(control: Control, operations: Sequence[HttpOperation], *, is_loopback: bool) -> ASGIApp:
    """Return the application that serves these operations on the brokers of `control`."""
    paths: dict[str, dict[str, HttpOperation]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method] = operation
    routes = [
        Route(path, _endpoint(control, methods), methods=list(methods)) for path, methods in paths.items()
    ]
    description = as_text(operations)

    async def send_description(_: Request) -> Response:
        return Response(description, media_type="application/json")

    async def send_refusal(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        sentence = f"there is nothing of this name and method here: {PATH} describes what there is"
        return _refused(problem(error.status_code, sentence), error.headers)

    routes.append(Route(PATH, send_description))
    served = Starlette(routes=routes, exception_handlers={HTTPException: send_refusal})

    def forbidden(reason: str) -> Response:
        return _refused(problem(HTTPStatus.FORBIDDEN, reason))

    return Guarded(served, "control port", forbidden, is_loopback=is_loopback)


def _endpoint(control: Control, methods: Mapping[str, HttpOperation]) -> Endpoint:
    """Return the function that serves the operations of one path."""

    async def serve(request: Request) -> Response:
        operation = methods["GET" if request.method == "HEAD" else request.method]
        try:
            body = await _body_of(request)
            asked = operation.read(request.path_params, request.query_params, body)
            answer = await operation.perform(control, asked)
        except Exception as error:
            return _refused(problem_of(error))
        if operation.answer is None:
            return Response(status_code=operation.status)
        return Response(msgspec.json.encode(answer), operation.status, media_type="application/json")

    return serve


async def _body_of(request: Request) -> bytes:
    """Return the body of a request. Raises ProblemError if it is too large or too slow."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_BODY:
                    raise ProblemError(
                        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body has at most {MAX_BODY:,} bytes"
                    )
    except TimeoutError as error:
        raise ProblemError(
            HTTPStatus.REQUEST_TIMEOUT, f"the body did not come within {BODY_TIMEOUT_S:g} s"
        ) from error
    except ClientDisconnect as error:
        raise ProblemError(HTTPStatus.BAD_REQUEST, "the body did not come to its end") from error
    return bytes(body)


def _refused(refused: Problem, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(refused), refused.status, headers, MEDIA_TYPE)
