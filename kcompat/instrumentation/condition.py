"""The condition of running brokers that explains their answers, beside records, topics and groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.api.config_resources import config_in_force
from kcompat.instrumentation.faults.reports import fault_reports

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.instrumentation.faults.reports import FaultReport
    from kcompat.node.broker import BrokerNode


class Condition(Struct, frozen=True):
    """Faults, and settings in force."""

    faults: Sequence[FaultReport] = ()
    """The faults since the time that was asked for, also those that are over."""
    creates_topics: bool | None = None
    """The setting `auto.create.topics.enable`; None if no broker runs."""


def condition_of(nodes: Sequence[BrokerNode], since: float) -> Condition:
    """Return the condition of brokers since a time."""
    if not nodes:
        return Condition()
    config = config_in_force(nodes[0].parts.services)
    return Condition(fault_reports(nodes, since), config.auto_create_topics_enable)
