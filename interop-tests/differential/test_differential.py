"""Scenarios of raw requests, played to a real Kafka and to kcompat; the answers must be the same.

The reference is Kafka 3.9.2, and Kafka 4.3.0 for versions that 3.9.2 does not have.
A difference is a bug, or has its line in `accepted.py` and in `docs/explanation/differences.md`.
"""

from __future__ import annotations

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache
from typing import TYPE_CHECKING

import pytest

from differential.accepted import ACCEPTED, Verdicts
from differential.catalogue import (
    AMONG_BROKERS,
    KAFKA_3_9_LAST,
    KAFKA_4_3_LAST,
    NOT_SERVED,
    SCENARIOS,
    WITH_ZOOKEEPER,
    release_of,
)
from differential.compare import differences
from differential.play import Play
from differential.scenarios import load_all
from kcompat.api.registry import SERVED
from kcompat.protocol.api_keys import ApiKey
from real_kafka import RealKafka
from support.kcompat_broker import KcompatBroker
from support.places import CACHE, REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from differential.catalogue import Scenario
    from differential.play import Step
    from support.broker_process import BrokerProcess

PROPERTIES = {
    "group.min.session.timeout.ms": "50",
    "log.retention.ms": "-1",
    "auto.create.topics.enable": "true",
}
"""Set on both: sessions that expire soon, and records of the year 1970 that stay."""

OURS = {
    "group.share.assignment.interval.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
}
"""Set here as `RealKafka` sets it."""

load_all()
EARLIER = pytest.mark.thorough("the same scenario in the last of its versions")
CASES = [
    pytest.param(
        played,
        version,
        id=f"{played.key.name.lower()}-{played.name}-v{version}",
        marks=() if version == max(played.versions) else EARLIER,
    )
    for played in SCENARIOS
    for version in played.versions
]


verdicts = Verdicts()
seen: set[tuple[str, int]] = set()


@pytest.fixture(scope="module")
def kafka() -> Iterator[Callable[[str], BrokerProcess]]:
    """A Kafka of a release, broker 1 of its cluster, started when it is first needed."""
    with ExitStack() as running:

        @cache
        def started(release: str) -> BrokerProcess:
            libs = CACHE / f"kafka-{release}" / "libs"
            if shutil.which("java") is None or not libs.is_dir():
                pytest.skip("install a Java 17 runtime and run python interop-tests/fetch.py jars")
            return running.enter_context(RealKafka(release, PROPERTIES))

        yield started


@pytest.fixture(scope="module")
def ours() -> Iterator[BrokerProcess]:
    """Our broker, with the same number."""
    with KcompatBroker({"broker.id": "1", **OURS, **PROPERTIES}) as broker:
        yield broker
        assert broker.is_running(), broker.log_tail()
        assert "Traceback" not in broker.log_tail(1_000_000), broker.log_tail(8000)


def play(broker: BrokerProcess, played: Scenario, version: int) -> list[Step]:
    """Play one scenario; the transcript."""
    stage = Play(broker.port, f"{played.name}-{version}")
    try:
        played.scene(stage, version)
    finally:
        stage.close()
    return stage.transcript


@pytest.mark.parametrize(("played", "version"), CASES)
def test_same_answers(
    kafka: Callable[[str], BrokerProcess], ours: BrokerProcess, played: Scenario, version: int
) -> None:
    brokers = (kafka(release_of(played.key, version)), ours)
    with ThreadPoolExecutor(2) as threads:
        theirs, mine = threads.map(lambda broker: play(broker, played, version), brokers)
    assert theirs, "a scenario that compares nothing"
    left = verdicts.unexplained(played.name, version, differences(theirs, mine))
    seen.add((played.name, version))
    if left:
        pytest.fail("\n".join(["The answers differ:", *left]), pytrace=False)


def test_no_accepted_difference_is_stale() -> None:
    if len(seen) < len(CASES):
        pytest.skip("not every scenario was played")
    assert not verdicts.stale()


def test_every_common_api_is_played() -> None:
    references = KAFKA_3_9_LAST.keys() | KAFKA_4_3_LAST.keys()
    assert {served.key for served in SERVED} - AMONG_BROKERS.keys() == references
    missing = references - {played.key for played in SCENARIOS} - WITH_ZOOKEEPER
    assert not missing


@pytest.mark.parametrize(("release", "table"), [("3.9.2", KAFKA_3_9_LAST), ("4.3.0", KAFKA_4_3_LAST)])
def test_the_references_have_these_versions(
    kafka: Callable[[str], BrokerProcess], release: str, table: dict[ApiKey, int]
) -> None:
    stage = Play(kafka(release).port, "versions")
    answer = stage.do(ApiKey.API_VERSIONS, 0)
    stage.close()
    last = {row.api_key: row.max_version for row in answer.api_keys}
    assert {key: last[key] for key in table} == table


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("release", ["3.9.2", "4.3.0"])
def test_whatever_a_kafka_lists_is_listed(
    kafka: Callable[[str], BrokerProcess], ours: BrokerProcess, release: str, version: int
) -> None:
    theirs, mine = (listed(broker, version) for broker in (kafka(release), ours))
    assert theirs.keys() - mine.keys() == NOT_SERVED
    newer = KAFKA_4_3_LAST.keys() - KAFKA_3_9_LAST.keys() if release == "3.9.2" else set()
    assert mine.keys() - theirs.keys() == AMONG_BROKERS.keys() | (newer - theirs.keys())
    narrower = {
        key: (theirs[key], mine[key])
        for key in theirs.keys() & mine.keys()
        if not mine[key][0] <= theirs[key][0] <= theirs[key][1] <= mine[key][1]
    }
    assert not narrower


def listed(broker: BrokerProcess, version: int) -> dict[int, tuple[int, int]]:
    """Return the first and last version of each API, as a version of ApiVersions lists them."""
    stage = Play(broker.port, "listed")
    software = {"client_software_name": "raw", "client_software_version": "1.0"}
    answer = stage.do(ApiKey.API_VERSIONS, version, **software)
    stage.close()
    return {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}


def test_accepted_differences_are_documented() -> None:
    page = REPOSITORY / "docs" / "explanation" / "differences.md"
    headings = set(re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE))
    assert {entry.why for entry in ACCEPTED} <= headings


def test_scenarios_have_names_of_their_own() -> None:
    names = [played.name for played in SCENARIOS]
    assert len(names) == len(set(names))
