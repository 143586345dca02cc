"""One trial: one measure, one broker, one round."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import peers
import system

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from generator import Generator

    from support.broker_process import BrokerProcess

Numbers = dict[str, float]
"""The figures of a trial by their names."""


@dataclass(frozen=True, kw_only=True)
class Work(ABC):
    """The input of every measure, of one broker or of several."""

    generator: Generator
    directory: Path
    """For files of the bench, on the disk the brokers store on."""
    label: str
    """Differs from trial to trial; names of topics and groups begin with it."""
    scale: float
    """How much of the usual work to do."""

    @property
    @abstractmethod
    def brokers(self) -> list[BrokerProcess]:
        """The processes whose time counts."""

    @property
    def bootstrap(self) -> str:
        """The addresses that clients take as `bootstrap.servers`."""
        return ",".join(broker.bootstrap for broker in self.brokers)

    @property
    def pids(self) -> list[int]:
        """The process ids of the brokers."""
        return [broker.pid for broker in self.brokers]

    def count(self, usual: int) -> int:
        """The work to do where `usual` is usual."""
        return max(1, int(usual * self.scale))

    def warm(self, mib: int) -> None:
        """Make as much memory ready as the trial will take; see `system.make_ready`."""
        system.make_ready(self.directory, mib, [broker.home for broker in self.brokers])

    def expect_records(self, topic: str, partitions: int, count: int) -> None:
        """Raise unless the brokers took every record: a fast error is not a fast broker."""
        found = peers.records_in(self.bootstrap, topic, partitions)
        if found != count:
            name = self.brokers[0].name
            raise RuntimeError(f"{name} holds {found} records of {topic} instead of {count}")


@dataclass(frozen=True, kw_only=True)
class Trial(Work):
    """The input of a measure of one broker."""

    broker: BrokerProcess

    @property
    def brokers(self) -> list[BrokerProcess]:
        return [self.broker]

    @contextlib.contextmanager
    def topic(self, partitions: int = 1, configs: Mapping[str, str] = {}) -> Iterator[str]:
        """A topic for this trial, deleted afterwards."""
        name = f"{self.label}-topic"
        peers.create_topics(self.broker, [name], partitions, configs)
        peers.await_leaders(self.broker, name, partitions)
        try:
            yield name
        finally:
            peers.delete_topics(self.broker, [name])


class Measure(NamedTuple):
    """Something to measure."""

    name: str
    run: Callable[[Any], Numbers]
    """Is given a `Trial`, or a `ClusterTrial` where several brokers are measured together."""
    on_mock: bool = False
    """Whether librdkafka's mock cluster can do it too."""
    only_mock: bool = False
