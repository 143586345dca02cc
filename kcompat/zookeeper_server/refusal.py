"""ZooKeeper's error codes for the exceptions that a client's request may raise."""

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
    """The server refuses a request with an error code; the store is unchanged."""

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
    """Return ZooKeeper's error code for an exception; SYSTEM_ERROR for an unknown one."""
    return error.code if isinstance(error, RefusedError) else _CODES.get(type(error), Code.SYSTEM_ERROR)
