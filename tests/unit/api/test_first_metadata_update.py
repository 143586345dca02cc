"""Requests about the cluster wait for the controller's first metadata update."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kcompat.api.first_metadata_update import LONGEST_WAIT_MS, FirstMetadataUpdate
from kcompat.cluster.image import BrokerInfo
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.promise import Promise
from support.virtual_clock import VirtualClock


class Fixture:
    """A starting broker that is asked for the id of its controller."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.cluster = MetadataCache("the-cluster")
        self.first_update = FirstMetadataUpdate(self.cluster, self.clock)

    def ask(self) -> Any:
        return self.first_update.wait_then(lambda: self.cluster.image.controller_id)

    def update(self) -> None:
        self.cluster.update(replace(self.cluster.image, controller_id=3))


def test_requests_after_the_update_are_answered_at_once() -> None:
    fixture = Fixture()
    fixture.update()
    assert fixture.ask() == 3


def test_requests_wait_for_the_update() -> None:
    fixture = Fixture()
    first, second = fixture.ask(), fixture.ask()
    fixture.clock.advance(LONGEST_WAIT_MS - 1)
    fixture.cluster.begin_with(BrokerInfo(1, None, {}))
    assert not first.done
    fixture.update()
    assert (first.value, second.value) == (3, 3)
    assert fixture.clock.pending == 0


def test_requests_wait_no_longer_than_a_client_does() -> None:
    fixture = Fixture()
    early = fixture.ask()
    fixture.clock.advance(LONGEST_WAIT_MS - 1)
    late = fixture.ask()
    fixture.clock.advance(1)
    assert early.value == -1
    assert not late.done
    fixture.update()
    assert late.value == 3


def test_an_answer_that_comes_later_is_waited_for() -> None:
    fixture = Fixture()
    later: Promise[str] = Promise()
    answered: str | Promise[str] = fixture.first_update.wait_then(lambda: later)
    assert isinstance(answered, Promise)
    fixture.update()
    assert not answered.done
    later.complete("done")
    assert answered.value == "done"
