"""Failures of requests, named and worded as Kafka's Java clients do, since its commands print them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from kcompat.protocol.errors import ErrorCode, error_of

PACKAGE: Final = "org.apache.kafka.common.errors."
"""Java package of the exceptions that stand for error codes."""


class JavaError(Exception):
    """A failure whose text is the message of the Java exception `name`."""

    def __init__(
        self, name: str, message: str, code: ErrorCode | None = None, package: str = PACKAGE
    ) -> None:
        super().__init__(message)
        self.name = name
        """Simple name of the Java class, such as `TopicExistsException`."""
        self.code = code
        """Error code of the response; None for a failure without a response."""
        self.package = package

    def logged(self) -> str:
        """Return the lines of a Java stack trace without its frames: class, message and causes.

        A cause that is no Java exception, such as an error of the system, is shown by its message alone.
        """
        lines = [f"{self.package}{self.name}: {self}"]
        cause = self.__cause__
        while cause is not None:
            text = cause.logged() if isinstance(cause, JavaError) else f"{cause}"
            lines.append(f"Caused by: {text}")
            cause = None if isinstance(cause, JavaError) else cause.__cause__
        return "\n".join(lines)


def error_of_code(code: int, message: str | None = None) -> JavaError:
    """Return the error of an error code, with the broker's message or else Java's default one."""
    name, default = _table().get(code) or _table()[ErrorCode.UNKNOWN_SERVER_ERROR]
    return JavaError(name, message if message is not None else default, error_of(code))


def raise_for(code: int, message: str | None = None) -> None:
    """Raise the error that an error code stands for; return for code 0."""
    if code:
        raise error_of_code(code, message)


@cache
def _table() -> dict[int, tuple[str, str]]:
    """Return the exception and the default message of each error code (`Errors` of Kafka 4.3)."""
    text = Path(__file__).with_name("java_errors.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines())
    return {int(code): (name, message) for code, name, message in rows}


def config_error(message: str) -> JavaError:
    """Return the error for a client setting with an invalid value."""
    return JavaError("ConfigException", message, package="org.apache.kafka.common.config.")


def kafka_error(message: str) -> JavaError:
    """Return Java's general error, `KafkaException`."""
    return JavaError("KafkaException", message, package="org.apache.kafka.common.")


def timed_out(message: str) -> JavaError:
    """Return the error for a request without a response within its timeout."""
    return JavaError("TimeoutException", message, ErrorCode.REQUEST_TIMED_OUT)


def unsupported(message: str) -> JavaError:
    """Return the error for a request of which the broker serves no version that the client can use."""
    return JavaError("UnsupportedVersionException", message, ErrorCode.UNSUPPORTED_VERSION)
