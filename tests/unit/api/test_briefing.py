"""What a broker is asked before its controller has told it of the cluster."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kcompat.api.briefing import PATIENCE_MS, Briefing
from kcompat.cluster.image import BrokerInfo
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.promise import Promise
from support.virtual_clock import VirtualClock


class Fixture:
    """A broker that asks itself who its controller is."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.cluster = MetadataCache("the-cluster")
        self.briefing = Briefing(self.cluster, self.clock)

    def ask(self) -> Any:
        return self.briefing.once_told(lambda: self.cluster.image.controller_id)

    def tell(self) -> None:
        self.cluster.update(replace(self.cluster.image, controller_id=3))


def test_who_was_told_answers_at_once() -> None:
    fixture = Fixture()
    fixture.tell()
    assert fixture.ask() == 3


def test_questions_wait_until_the_controller_has_spoken() -> None:
    fixture = Fixture()
    first, second = fixture.ask(), fixture.ask()
    fixture.clock.advance(PATIENCE_MS - 1)
    fixture.cluster.begin_with(BrokerInfo(1, None, {}))
    assert not first.done
    fixture.tell()
    assert (first.value, second.value) == (3, 3)
    assert fixture.clock.pending == 0


def test_questions_wait_no_longer_than_a_client_does() -> None:
    fixture = Fixture()
    early = fixture.ask()
    fixture.clock.advance(PATIENCE_MS - 1)
    late = fixture.ask()
    fixture.clock.advance(1)
    assert early.value == -1
    assert not late.done
    fixture.tell()
    assert late.value == 3


def test_an_answer_that_comes_later_is_waited_for() -> None:
    fixture = Fixture()
    later: Promise[str] = Promise()
    asked: str | Promise[str] = fixture.briefing.once_told(lambda: later)
    assert isinstance(asked, Promise)
    fixture.tell()
    assert not asked.done
    later.complete("done")
    assert asked.value == "done"
