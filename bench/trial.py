"""One trial: one measure, one broker, one round."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, NamedTuple

import peers
import system

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from generator import Generator

    from support.broker_process import BrokerProcess

LONGEST_DELETION_S = 3

Numbers = dict[str, float]
"""What a trial found, by the name of the figure."""


class Trial(NamedTuple):
    """What a measure is given."""

    broker: BrokerProcess
    generator: Generator
    directory: Path
    """For files of the bench, on the disk the brokers store on."""
    label: str
    """Differs from trial to trial; names of topics and groups begin with it."""
    scale: float
    """How much of the usual work to do."""

    def count(self, usual: int) -> int:
        """The work to do where `usual` is usual."""
        return max(1, int(usual * self.scale))

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

    def warm(self, mib: int) -> None:
        """Make as much memory ready as the trial will take; to be called right before the clock runs.

        Before that, files of topics that were deleted go: a second or two after their topics, and not in
        another trial's time. Kafka takes longer in its first half minute.
        """
        deadline = time.monotonic() + LONGEST_DELETION_S
        while any(self.broker.home.glob("**/*-delete")) and time.monotonic() < deadline:
            time.sleep(0.05)
        system.warm_memory(self.directory, mib)

    def expect_records(self, topic: str, partitions: int, count: int) -> None:
        """Raise unless the broker took every record: a fast error is not a fast broker."""
        found = peers.records_in(self.broker, topic, partitions)
        if found != count:
            raise RuntimeError(f"{self.broker.name} holds {found} records of {topic} instead of {count}")


class Measure(NamedTuple):
    """Something to measure."""

    name: str
    run: Callable[[Trial], Numbers]
    on_mock: bool = False
    """Whether librdkafka's mock cluster can do it too."""
    only_mock: bool = False
