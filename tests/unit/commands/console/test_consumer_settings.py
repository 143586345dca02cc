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


def test_the_classic_protocol_may_be_named_and_no_other() -> None:
    ConsumerSettings.of({**GROUP, "group.protocol": "CLASSIC"})
    with pytest.raises(JavaError, match=r"group\.protocol has to be classic"):
        ConsumerSettings.of({**GROUP, "group.protocol": "consumer"})
