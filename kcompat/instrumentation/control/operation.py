"""One HTTP request that the control port serves, as a value, and the reading of its parameters."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from kcompat.instrumentation.control.problems import ProblemError, not_understood

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from kcompat.instrumentation.control.control import Control

    Perform: TypeAlias = Callable[[Control, Any], Awaitable[Any]]

Method: TypeAlias = Literal["GET", "POST", "DELETE"]

_IN_PATH: Final = re.compile(r"{(\w+)}")
_ABOUT_FIELDS: Final = re.compile(r"Object (contains unknown|missing required) field `\w+`")
"""Messages of msgspec about the parameters, rather than about what is inside one of them."""


class Nothing(Struct, forbid_unknown_fields=True):
    """A request without parameters."""


class HttpOperation(Struct, frozen=True):
    """An HTTP request, the function that serves it, and the types of its parameters and its answer.

    The fields of `request` are read from the path where its template names them. The others are read from the
    body of a POST, and from the query of a GET or a DELETE.
    """

    method: Method
    path: str
    """The path, with the names of fields in braces: `/topics/{topic}`."""
    perform: Perform
    request: type[Struct]
    answer: Any
    """The type of the answer; None for an answer without a body."""
    status: HTTPStatus = HTTPStatus.OK

    @property
    def name(self) -> str:
        """The name of the function that serves the request."""
        return self.perform.__name__

    @property
    def in_path(self) -> list[str]:
        """Names of the fields that are part of the path."""
        return _IN_PATH.findall(self.path)

    @property
    def has_body(self) -> bool:
        """Whether the fields that are not in the path are read from the body."""
        return self.method == "POST"

    def read(self, in_path: Mapping[str, str], query: Mapping[str, str], body: bytes) -> Struct:
        """Return the request with these parameters. Raises ProblemError, msgspec.MsgspecError."""
        try:
            return self._read(in_path, query, body)
        except msgspec.ValidationError as error:
            if not _ABOUT_FIELDS.fullmatch(str(error)):
                raise
            known = ", ".join(self.request.__struct_fields__) or "none"
            raise ProblemError(
                HTTPStatus.BAD_REQUEST, f"{not_understood(error)}. Its parameters are: {known}"
            ) from error
        except RecursionError as error:
            raise ProblemError(
                HTTPStatus.BAD_REQUEST, "the JSON of the body has too many levels: nest it less deeply"
            ) from error

    def _read(self, in_path: Mapping[str, str], query: Mapping[str, str], body: bytes) -> Struct:
        if not self.has_body:
            return msgspec.convert({**query, **in_path}, self.request, strict=False)
        if query:
            raise ProblemError(
                HTTPStatus.BAD_REQUEST, f"the parameters of a {self.method} belong into its body, as JSON"
            )
        values = msgspec.json.decode(body, type=dict[str, Any]) if body.strip() else {}
        if repeated := values.keys() & in_path.keys():
            raise ProblemError(
                HTTPStatus.BAD_REQUEST,
                f"the path has {', '.join(repeated)} already: leave it out of the body",
            )
        return msgspec.convert({**values, **in_path}, self.request)
