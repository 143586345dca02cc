"""Registry of the embedded brokers of a pytest run, which makes the reports on failed tests."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, cast

import pytest

from kcompat.errors import UsageError
from kcompat.testing.sharing import SharedBrokers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from kcompat.testing.sharing import Brokers

TITLE: Final = "what your clients did"
"""Title of the section in pytest's report."""
STORY_TIMEOUT_S: Final = 10
"""Seconds within which brokers have to return their records: a simulated disk may be slow."""


class BrokerWatch:
    """An observer of embedded brokers that remembers the brokers that the current test may use."""

    def __init__(self) -> None:
        self._brokers: list[Brokers] = []
        self.shared = SharedBrokers()
        """The brokers of fixtures."""
        self._stories: dict[int, str] = {}
        self._began = 0.0

    def starting(self, brokers: object) -> None:
        """Remember brokers that start."""
        if not any(each is brokers for each in self._brokers):
            self._brokers.append(cast("Brokers", brokers))

    def failing(self, brokers: object) -> None:
        """Write the report on brokers that stop because a test has failed."""
        self._stories[id(brokers)] = self._story_of(cast("Brokers", brokers))

    def test_begins(self, fixtures: Collection[str]) -> None:
        """Begin a new report, forget brokers that have stopped, and prepare the brokers of the test's
        fixtures.
        """
        self._stories.clear()
        self._brokers = [each for each in self._brokers if each.is_started]
        self.shared.prepare(fixtures)
        self._began = time.time()

    def stories(self, used: Iterable[object]) -> list[str]:
        """Return the reports of the brokers that had clients during this test. If there is none, return a
        sentence about each broker among the values `used` by the test.
        """
        stories = [self._stories.get(id(each)) or self._story_of(each) for each in self._brokers]
        told = [story for story in stories if story]
        return told or [
            f"No client sent anything to {brokers!r} during this test."
            for brokers in self._brokers
            if any(value is brokers for value in used)
        ]

    def _story_of(self, brokers: Brokers) -> str:
        """Return the report of brokers; empty if no client connected to them."""
        from kcompat.embedded.thread import patience
        from kcompat.testing.story.gathering import evidence_of
        from kcompat.testing.story.report import tell

        try:
            with patience(STORY_TIMEOUT_S):
                evidence = evidence_of(brokers, self._began)
            return tell(evidence)
        except UsageError:  # a forked child has no record of the brokers of its parent
            return ""
        except TimeoutError:
            return f"The story of {brokers!r} cannot be told: it did not answer within {STORY_TIMEOUT_S} s."
        except Exception as error:  # the report of the test is worth more than its story
            return f"The story of {brokers!r} cannot be told: {error!r}"


WATCH: Final = pytest.StashKey[BrokerWatch]()
"""Key of the `BrokerWatch` in the stash of pytest's configuration."""
