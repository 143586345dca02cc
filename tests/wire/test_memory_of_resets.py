"""Memory of a broker that goes back: nothing of the time before is kept."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING

import pytest

from kcompat import Broker
from support.eventually import eventually
from support.log_harness import make_batch
from support.raw_client import RawClient
from support.raw_requests import commit_offset, create_topic, find_coordinator, produce

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.node.parts import Parts


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


def parts_of(broker: Broker) -> Parts:
    return broker._running()[1].parts


def test_nothing_of_the_time_before_is_kept_in_memory(broker: Broker) -> None:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    with RawClient((host, int(port))) as client:
        create_topic(client, "orders")
        assert produce(client, "orders", make_batch()).error_code == 0
        assert find_coordinator(client, "billing") == 0
        eventually(lambda: commit_offset(client, "billing", "orders", 1) == 0, "the group is loaded")
        parts = weakref.ref(parts_of(broker))
        directory = weakref.ref(parts_of(broker).storage.logs.directories[0])
        broker.reset()

    def are_gone() -> bool:
        gc.collect()
        return parts() is None

    eventually(are_gone, "the abandoned parts are collected")
    assert directory() is not None, "the log directories stay"


def test_abandoned_parts_are_freed_by_a_short_collection() -> None:
    with Broker(topics={"orders": 2}) as broker:
        gc.disable()  # so that they stay in the youngest generation
        try:
            broker.reset()
            parts = weakref.ref(parts_of(broker))
            broker.reset()
            assert parts() is None
        finally:
            gc.enable()
