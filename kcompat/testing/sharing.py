"""Brokers of fixtures that several tests share, and the preparation that makes tests independent of each
other.
"""

from __future__ import annotations

import itertools
import re
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kcompat.errors import KcompatError, SnapshotError, StartError, UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from kcompat import Broker, Cluster

    Brokers: TypeAlias = Broker | Cluster

_LONGEST: Final = 200
"""Maximum number of characters of a test's name in a topic name, which Kafka limits to 249 characters."""

_numbers: Final = itertools.count(1)


class _Shared:
    """The brokers of one fixture."""

    def __init__(self, fixture: str, brokers: Brokers, *, does_reset: bool) -> None:
        self.fixture = fixture
        self.brokers = brokers
        self._does_reset = does_reset
        self._stopped_by = ""
        """The test that has stopped the brokers and not started them again."""
        self.is_ready = True
        """Whether the brokers are ready for the current test; true at first, as they have just started."""

    def prepare(self) -> None:
        """Start the brokers that do not run, and reset them if `reset` is set."""
        self.is_ready = True
        if not self.brokers.is_started:
            self._start()
            return
        _start_members(self.brokers)
        if self._does_reset:
            self._reset()
        elif not hasattr(self.brokers, "brokers") and _has_lost_a_disk(self.brokers):
            self.brokers.stop()
            self._start()

    def clean(self, test: str) -> None:
        """End all faults after a test."""
        self.is_ready = False
        if not self.brokers.is_started:
            self._stopped_by = self._stopped_by or test
            return
        members: Sequence[Any] = getattr(self.brokers, "brokers", (self.brokers,))
        for each in members:
            with suppress(UsageError):  # a broker of a cluster that does not run
                each.disk.clear()  # first: all else waits for a slow disk
        with suppress(UsageError):  # no broker of the cluster runs
            self.brokers.faults.clear()

    def _reset(self) -> None:
        try:
            self.brokers.reset()  # a cluster is never reset
        except SnapshotError:  # the broker is stopped then, or a call of an earlier test hangs
            self.brokers.stop()
            self._start()

    def _start(self) -> None:
        test, self._stopped_by = self._stopped_by, ""
        try:
            self.brokers.start()
        except KcompatError as error:
            self._stopped_by = test
            reason = f"was left stopped by {test}" if test else "has stopped"
            raise StartError(f"{self.fixture} {reason}, and cannot start again: {error}") from error


def _has_lost_a_disk(brokers: Brokers) -> bool:
    """Return whether a directory is still offline because of a fault that has ended: only a restart helps."""
    return any(each.is_of_disk and each.ended is None for each in brokers.condition().faults)


def _start_members(brokers: Brokers) -> None:
    """Start the brokers of a cluster that an earlier test stopped, and reconnect those that it isolated."""
    members = getattr(brokers, "brokers", ())
    if members:
        brokers.heal()  # type: ignore[union-attr]  # a single broker has no members
    for member in members:
        if not member.is_running:
            member.start()


class SharedBrokers:
    """The brokers of fixtures. Several may have the same name, since one conftest.py may override the fixture
    of another.
    """

    def __init__(self) -> None:
        self._shared: list[_Shared] = []

    @contextmanager
    def sharing(self, fixture: str, brokers: Brokers, *, does_reset: bool) -> Iterator[None]:
        """Prepare started brokers before each further test, until the end of the `with` block."""
        shared = _Shared(fixture, brokers, does_reset=does_reset)
        self._shared.append(shared)
        try:
            yield
        finally:
            self._shared.remove(shared)

    def prepare(self, fixtures: Collection[str]) -> None:
        """Prepare the brokers of these fixtures for the current test, unless they are prepared: start those
        that do not run, and reset them if `reset` is set. Raises StartError.
        """
        for shared in list(self._shared):
            if shared.fixture in fixtures and not shared.is_ready:
                shared.prepare()

    def clean(self, test: str) -> None:
        """End all faults after a test, including those that the test did not end."""
        for shared in self._shared:
            shared.clean(test)


def unique_topic(test: str, run: str = "") -> str:
    """Return a topic name that begins with the name of a test and that this process has not used before.

    `run` makes the name different from those of other processes.
    """
    allowed = re.sub(r"[^A-Za-z0-9._-]+", "-", test)
    return f"{allowed[:_LONGEST]}-{next(_numbers)}{run and '-'}{run}"
