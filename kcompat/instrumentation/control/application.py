"""The operations of the control port as an ASGI application."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from kcompat.instrumentation.control.openapi import PATH, as_text
from kcompat.instrumentation.control.problems import MEDIA_TYPE, ProblemError, problem, problem_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from starlette.types import ASGIApp, Receive, Scope, Send

    from kcompat.instrumentation.control.control import Control
    from kcompat.instrumentation.control.operation import Operation
    from kcompat.instrumentation.control.problems import Problem

    Endpoint = Callable[[Request], Awaitable[Response]]

MAX_BODY: Final = 16 * 1024 * 1024
"""Most bytes of the body of a request."""
BODY_TIMEOUT_S: Final = 30.0
"""Seconds in which the body of a request has to come."""

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def application(control: Control, operations: Sequence[Operation], *, is_loopback: bool) -> ASGIApp:
    """Return the application that serves these operations on the brokers of `control`."""
    paths: dict[str, dict[str, Operation]] = {}
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
    return _Guard(served, is_loopback=is_loopback)


def _endpoint(control: Control, methods: Mapping[str, Operation]) -> Endpoint:
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


class _Guard:
    """An application that serves no web pages of other origins.

    A browser sends requests of any page to a port of its own machine. Against DNS rebinding, by which the
    name of a page resolves to the loopback address, the `Host` must be a name that no page can have. A
    request with the `Origin` of another page is refused too.
    """

    def __init__(self, served: ASGIApp, *, is_loopback: bool) -> None:
        self._served = served
        self._is_loopback = is_loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, Any] = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        origin = headers.get(b"origin")
        reason = refusal(
            host, None if origin is None else origin.decode("latin-1"), is_loopback=self._is_loopback
        )
        if reason is None:
            await self._served(scope, receive, send)
        else:
            await _refused(problem(HTTPStatus.FORBIDDEN, reason))(scope, receive, send)


def refusal(host: str, origin: str | None, *, is_loopback: bool) -> str | None:
    """Return the reason in a sentence why a request is refused, or None.

    `host` and `origin` are the headers of the request. A port that is open to other machines, where not
    `is_loopback`, is also reached by addresses and by names of a local network, which have no dot.
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        name = ""
    if name not in _LOOPBACK and (is_loopback or not _is_local(name)):
        return f"the control port is not reached by the name {host!r}: use localhost"
    if origin is not None and origin != f"http://{host}":
        return f"the control port does not serve pages of {origin!r}"
    return None


def _is_local(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return bool(name) and "." not in name
    return True
