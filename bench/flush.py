"""Every acknowledgement after a sync: `flush.messages=1`, where group commit shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import frames
from system import Stopwatch
from trial import Measure

if TYPE_CHECKING:
    from trial import Numbers, Trial

CONNECTIONS = 20
RECORD_SIZE = 100
EVERY_RECORD = {"flush.messages": "1"}


def alone(trial: Trial) -> Numbers:
    """One record a request, one request at a time, acks=1: each waits for a sync of its own."""
    count = trial.count(500)
    with trial.topic(configs=EVERY_RECORD) as topic:
        request = frames.produce(topic, 0, records=1, size=RECORD_SIZE)
        load = trial.generator.run(trial.broker.port, [request], connections=1, depth=1, count=count)
        trial.expect_records(topic, 1, count)
    return {"flush-alone-p50": load.p50_us}


def parallel(trial: Trial) -> Numbers:
    """One record a request on 20 connections to one partition, acks=1: requests share a sync."""
    count = trial.count(3_000)
    with trial.topic(configs=EVERY_RECORD) as topic:
        request = frames.produce(topic, 0, records=1, size=RECORD_SIZE)
        with Stopwatch(trial.broker.pid) as watch:
            load = trial.generator.run(
                trial.broker.port, [request], connections=CONNECTIONS, depth=1, count=count
            )
        trial.expect_records(topic, 1, count)
    return {
        "flush-parallel": count / load.seconds / 1e3,
        "flush-parallel-p99": load.p99_us,
        "flush-parallel-cpu": watch.cpu / count * 1e6,
    }


MEASURES = (Measure("flush-alone", alone), Measure("flush-parallel", parallel))
