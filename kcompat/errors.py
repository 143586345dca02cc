"""Errors that `kcompat.Broker` and `kcompat.Cluster` raise for the program that uses them.

Each message is one sentence that says what is wrong and, if that is not obvious, how to correct it. A wait
that takes too long raises `TimeoutError`.
"""

from __future__ import annotations


class KcompatError(Exception):
    """The base class of the errors in this module."""


class ConfigError(KcompatError):
    """Error of a configuration that a broker cannot run with, such as a value that is not allowed."""


class UsageError(KcompatError):
    """Error of a call at the wrong time, or with invalid arguments."""


class StartError(KcompatError):
    """Error of a broker that could not start, for instance because its port or directory is in use."""


class StartTimeoutError(StartError, TimeoutError):
    """Error of a broker that did not serve clients within its start timeout."""


class SnapshotError(KcompatError):
    """Error of a snapshot that could not be stored, or of a broker that could not go back to one."""


class RequestError(KcompatError):
    """Error of a request that a broker refuses, for instance of a record that its topic cannot take."""

    def __init__(self, name: str, message: str) -> None:
        """Make the error; `name` is Kafka's name of it, and `message` a sentence."""
        super().__init__(f"{name}: {message}")
        self.name = name
        """Kafka's name of the error, such as `MESSAGE_TOO_LARGE`."""
