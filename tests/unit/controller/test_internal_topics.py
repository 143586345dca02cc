"""Internal topics that were made with fewer replicas than they could have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.image import BrokerInfo
from kcompat.config.broker import BrokerConfig
from kcompat.controller.controller import FIRST_BALANCE_MS
from kcompat.controller.internal_topics import warn_of_small_topics
from kcompat.controller.state import ControlledTopic, ControllerState, RegisteredBroker
from kcompat.controller.values import TopicSpec
from kcompat.topics import TRANSACTION_STATE
from support.controllers import ControllerFixture, answer

if TYPE_CHECKING:
    from pathlib import Path

FACTOR = "transaction.state.log.replication.factor"


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "kafka-reassign" in record.getMessage()]


async def test_a_topic_that_could_have_more_replicas_is_named_once_a_term(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with ControllerFixture(path, {FACTOR: "3"}, 2) as fixture:
        await answer(fixture.decisions.create_topics([TopicSpec(TRANSACTION_STATE, 2, 1)]))
        fixture.clock.advance(FIRST_BALANCE_MS - 1)
        assert not warnings(caplog)
        fixture.clock.advance(1)
        (said,) = warnings(caplog)
        assert said.startswith(
            f"{TRANSACTION_STATE} has partitions with 1 of the 3 replicas that {FACTOR} says, "
            "and 2 brokers are up"
        )
        fixture.clock.advance(BrokerConfig().integer("leader.imbalance.check.interval.seconds") * 1000)
        assert len(warnings(caplog)) == 1


@pytest.mark.parametrize(("factor", "replicas"), [("1", 1), ("3", 2)])
async def test_a_topic_that_has_what_it_can_have_is_not_named(
    path: Path, caplog: pytest.LogCaptureFixture, factor: str, replicas: int
) -> None:
    async with ControllerFixture(path, {FACTOR: factor}, 2) as fixture:
        await answer(fixture.decisions.create_topics([TopicSpec(TRANSACTION_STATE, 2, replicas)]))
        fixture.clock.advance(FIRST_BALANCE_MS)
        assert not warnings(caplog)


def test_a_topic_without_partitions_is_not_named(caplog: pytest.LogCaptureFixture) -> None:
    """Kafka has no such topic, but its znode can be written."""
    empty = ControlledTopic(TRANSACTION_STATE, bytes(16), ())
    brokers = {number: RegisteredBroker(BrokerInfo(number, None, {}), number) for number in range(3)}
    state = ControllerState(0, 1, 1, brokers=brokers, topics={TRANSACTION_STATE: empty})
    warn_of_small_topics(state, BrokerConfig())
    assert not warnings(caplog)
