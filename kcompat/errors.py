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
    """Error of a call at the wrong time, or with arguments that are not possible."""


class StartError(KcompatError):
    """Error of a broker that could not start, for instance because its port or directory is in use."""


class StartTimeoutError(StartError, TimeoutError):
    """Error of a broker that did not serve clients within its start timeout."""


class SnapshotError(KcompatError):
    """Error of a snapshot that could not be stored, or of a broker that could not go back to one."""
