"""Reports of faults: their effects, how many requests they affected, and which ones, also of faults that have
ended.

Together with some settings they explain unexpected answers of brokers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.api.config_resources import config_in_force
from kcompat.instrumentation.faults.disk import DiskFault, files_of
from kcompat.instrumentation.faults.interventions import interventions
from kcompat.instrumentation.faults.requests import request_faults

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kcompat.instrumentation.faults.request_fault import RequestFault
    from kcompat.node.broker import BrokerNode


class FaultReport(Struct, frozen=True):
    """A fault at one point in time."""

    description: str
    """Effect, such as `Produce fails with NOT_COORDINATOR`."""
    deed: str
    """Effect on a request as a participle, such as `dropped`."""
    began: float
    """Time in seconds since the epoch."""
    ended: float | None
    """Time of the end; None while the fault is active."""
    struck: int
    """Number of requests or operations affected."""
    is_of_disk: bool = False
    is_intervention: bool = False
    """Whether the fault is an intervention in a group, a transaction or a cluster, which affects no request.
    """
    makes_answers: bool = False
    """Whether affected requests do not get the broker's own answer."""
    exchanges: frozenset[tuple[str, int]] = frozenset()
    """Affected requests: address and port of the client, and the correlation id."""


def fault_reports(nodes: Sequence[BrokerNode], since: float) -> list[FaultReport]:
    """Return the faults that were active at these brokers since a time, in the order of their beginnings. A
    fault of several brokers is one row.
    """
    together: dict[int, list[RequestFault]] = {}
    for node in nodes:
        for fault in request_faults(node).history:
            together.setdefault(id(fault.chance), []).append(fault)
    reports = [_of_requests(faults) for faults in together.values()]
    files = {id(port): port for port in map(files_of, nodes)}  # the brokers of a cluster share one
    met = [each for port in files.values() for each in port.history if isinstance(each, DiskFault)]
    reports += [_of_disk(fault, nodes) for fault in met]
    reports += [
        FaultReport(each.description, "caused", each.began, each.ended, 0, is_intervention=True)
        for each in interventions(nodes)
    ]
    recent = [each for each in reports if each.ended is None or each.ended >= since]
    return sorted(recent, key=lambda each: each.began)


def _of_requests(faults: Sequence[RequestFault]) -> FaultReport:
    first = faults[0]
    is_over = first.chance.is_over or not any(fault.is_in_force for fault in faults)
    return FaultReport(
        str(first),
        first.deed,
        first.began,
        max(_ends(faults), default=first.began) if is_over else None,
        first.struck,
        makes_answers=first.makes_answers,
        exchanges=frozenset(each for fault in faults for each in fault.exchanges),
    )


def _ends(faults: Sequence[RequestFault]) -> Iterator[float]:
    return (fault.ended for fault in faults if fault.ended is not None)


def _of_disk(fault: DiskFault, nodes: Sequence[BrokerNode]) -> FaultReport:
    is_felt = fault.is_in_force or (fault.is_felt and any(node is fault.node for node in nodes))
    ended = None if is_felt else fault.ended
    return FaultReport(str(fault), "caused", fault.began, ended, fault.struck, is_of_disk=True)


class Condition(Struct, frozen=True):
    """Faults, and settings that explain unexpected answers."""

    faults: Sequence[FaultReport] = ()
    """The faults that were active since the given time, including those that have ended."""
    creates_topics: bool | None = None
    """The setting `auto.create.topics.enable`; None if no broker runs."""


def condition_of(nodes: Sequence[BrokerNode], since: float) -> Condition:
    """Return the condition of brokers since a time."""
    if not nodes:
        return Condition()
    config = config_in_force(nodes[0].parts.services)
    return Condition(fault_reports(nodes, since), config.auto_create_topics_enable)
