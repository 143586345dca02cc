"""Errors that `kcompat.Broker` and `kcompat.Cluster` raise for the program that uses them.

The message of each is one sentence that says what is wrong and, where that is not plain, what to do.
A wait that takes too long raises `TimeoutError`.
"""

from __future__ import annotations


class KcompatError(Exception):
    """The base class of the errors in this module."""


class ConfigError(KcompatError):
    """A configuration that a broker cannot run with, such as a value that is not allowed."""


class UsageError(KcompatError):
    """A call that makes no sense: at the wrong time, or with arguments that cannot be."""


class StartError(KcompatError):
    """A broker that could not start, because its port or its data directory is in use for instance."""


class StartTimeoutError(StartError, TimeoutError):
    """A broker that did not serve clients in the time that it was given to start."""
