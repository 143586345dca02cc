"""Embedded brokers of a run of pytest, and the stories that they can tell about a failed test."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import pytest

from kcompat.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from kcompat import Broker, Cluster

    Brokers: TypeAlias = Broker | Cluster

TITLE: Final = "what your clients did"
"""Title of the section of a report."""


class Watch:
    """An observer of embedded brokers that remembers which ones the present test may use."""

    def __init__(self) -> None:
        self._brokers: list[Brokers] = []
        self._resets: dict[str, Broker] = {}
        self._stories: dict[int, str] = {}
        self._began = 0.0

    def starting(self, brokers: object) -> None:
        """Remember brokers that start."""
        if not any(each is brokers for each in self._brokers):
            self._brokers.append(cast("Brokers", brokers))

    def failing(self, brokers: object) -> None:
        """Write down the story of brokers that stop because a test has failed."""
        self._stories[id(brokers)] = self._story_of(cast("Brokers", brokers))

    def reset_before_tests(self, fixture: str, broker: Broker) -> None:
        """Reset a broker before each test that uses its fixture."""
        self._resets[fixture] = broker

    def test_begins(self, fixtures: Collection[str]) -> None:
        """Begin a new story, forget the brokers that have stopped, and reset those that the fixtures of the
        test ask for.
        """
        if self._brokers:
            self._stories.clear()
            self._brokers = [each for each in self._brokers if _is_running(each)]
            self._resets = {name: each for name, each in self._resets.items() if _is_running(each)}
        for name, broker in self._resets.items():
            if name in fixtures:
                broker.reset()
        self._began = time.time()

    def stories(self, used: Iterable[object]) -> list[str]:
        """Return the stories of the brokers to which clients came in this test. If there is none, say so of
        each broker among the values `used` by the test.
        """
        stories = [self._stories.get(id(each)) or self._story_of(each) for each in self._brokers]
        told = [story for story in stories if story]
        return told or [
            f"No client sent anything to {brokers!r} during this test."
            for brokers in self._brokers
            if any(value is brokers for value in used)
        ]

    def _story_of(self, brokers: Brokers) -> str:
        """Return the story of brokers; the empty text if no client came to them."""
        from kcompat.testing.story.gathering import evidence_of
        from kcompat.testing.story.report import tell

        try:
            return tell(evidence_of(brokers, self._began))
        except UsageError:  # a forked child has no record of the brokers of its parent
            return ""
        except Exception as error:  # the report of the test is worth more than its story
            return f"The story of {brokers!r} cannot be told: {error!r}"


def _is_running(brokers: Brokers) -> bool:
    try:
        return bool(brokers.bootstrap_servers)
    except UsageError:
        return False


WATCH: Final = pytest.StashKey[Watch]()
"""Key of the watch in the stash of a configuration."""
