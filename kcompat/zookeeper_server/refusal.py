"""Errors, and the codes with which the server refuses requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.store.interface import (
    BadVersionError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    SessionExpiredError,
)
from kcompat.zookeeper_server.records import Code

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final


class RefusedError(Exception):
    """Refusal of a request with a code; nothing has changed."""

    def __init__(self, code: Code) -> None:
        super().__init__(code.name)
        self.code = code


_CODES: Final[Mapping[type[Exception], Code]] = {
    NoNodeError: Code.NO_NODE,
    NodeExistsError: Code.NODE_EXISTS,
    BadVersionError: Code.BAD_VERSION,
    NotEmptyError: Code.NOT_EMPTY,
    NoChildrenForEphemeralsError: Code.NO_CHILDREN_FOR_EPHEMERALS,
    SessionExpiredError: Code.SESSION_EXPIRED,
}


def code_of(error: Exception) -> Code:
    """Return the code for an error; an unknown error is a fault of the server."""
    return error.code if isinstance(error, RefusedError) else _CODES.get(type(error), Code.SYSTEM_ERROR)
