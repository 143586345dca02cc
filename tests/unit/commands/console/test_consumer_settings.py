"""The settings of a console consumer are checked as `ConsumerConfig` checks them."""

from __future__ import annotations

import pytest

from kcompat.admin.errors import JavaError
from kcompat.admin.offsets import At
from kcompat.commands.console.consumer_settings import ConsumerSettings

GROUP = {"group.id": "g"}


def test_a_consumer_begins_at_the_end_and_commits_by_itself() -> None:
    settings = ConsumerSettings.of(GROUP)
    assert (settings.reset, settings.commits, settings.isolation) == (At.LATEST, True, 0)
    assert ConsumerSettings.of({**GROUP, "auto.offset.reset": "none"}).reset is None


def test_a_group_has_one_of_two_protocols() -> None:
    assert not ConsumerSettings.of({**GROUP, "group.protocol": "CLASSIC"}).uses_kip_848
    settings = ConsumerSettings.of({**GROUP, "group.protocol": "Consumer", "group.remote.assignor": "range"})
    assert (settings.uses_kip_848, settings.group.remote_assignor) == (True, "range")
    with pytest.raises(JavaError, match="Invalid value share for configuration"):
        ConsumerSettings.of({**GROUP, "group.protocol": "share"})


@pytest.mark.parametrize("key", ["session.timeout.ms", "heartbeat.interval.ms"])
def test_what_the_broker_has_for_a_group_cannot_be_set(key: str) -> None:
    with pytest.raises(JavaError, match=f"{key} cannot be set when group.protocol=CONSUMER"):
        ConsumerSettings.of({**GROUP, "group.protocol": "consumer", key: "1000"})
