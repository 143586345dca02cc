"""Scenarios of raw requests, played to a real Kafka 3.9.2 and to kcompat; the answers must be the same.

A difference is a bug, or has its line in `accepted.py` and in `docs/explanation/differences.md`.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from broker_process import REPOSITORY
from differential.accepted import ACCEPTED, Verdicts
from differential.catalogue import KAFKA_3_9_LAST, SCENARIOS
from differential.compare import differences
from differential.play import Play
from differential.scenarios import load_all
from kcompat_broker import KcompatBroker
from real_kafka import RealKafka

from kcompat.api.registry import SERVED
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_process import BrokerProcess
    from differential.catalogue import Scenario
    from differential.play import Step

PROPERTIES = {
    "group.min.session.timeout.ms": "50",
    "log.retention.ms": "-1",
    "auto.create.topics.enable": "true",
}
"""Set on both: sessions that expire soon, and records of the year 1970 that stay."""

load_all()
CASES = [
    pytest.param(played, version, id=f"{played.key.name.lower()}-{played.name}-v{version}")
    for played in SCENARIOS
    for version in played.versions
]


verdicts = Verdicts()
seen: set[tuple[str, int]] = set()


@pytest.fixture(scope="module")
def brokers() -> Iterator[tuple[BrokerProcess, BrokerProcess]]:
    """A Kafka and a kcompat, both broker 1 of their cluster."""
    with RealKafka(properties=PROPERTIES) as kafka, KcompatBroker({"broker.id": "1", **PROPERTIES}) as ours:
        yield kafka, ours
        assert ours.is_running(), ours.log_tail()
        assert "Traceback" not in ours.log_tail(1_000_000), ours.log_tail(8000)


def play(broker: BrokerProcess, played: Scenario, version: int) -> list[Step]:
    """Play one scenario; the transcript."""
    stage = Play(broker.port, f"{played.name}-{version}")
    try:
        played.scene(stage, version)
    finally:
        stage.close()
    return stage.transcript


@pytest.mark.parametrize(("played", "version"), CASES)
def test_same_answers(brokers: tuple[BrokerProcess, BrokerProcess], played: Scenario, version: int) -> None:
    with ThreadPoolExecutor(2) as threads:
        kafka, ours = threads.map(lambda broker: play(broker, played, version), brokers)
    assert kafka, "a scenario that compares nothing"
    left = verdicts.unexplained(played.name, version, differences(kafka, ours))
    seen.add((played.name, version))
    if left:
        pytest.fail("\n".join(["The answers differ:", *left]), pytrace=False)


def test_no_accepted_difference_is_stale() -> None:
    if len(seen) < len(CASES):
        pytest.skip("not every scenario was played")
    assert not verdicts.stale()


def test_every_common_api_is_played() -> None:
    assert {served.key for served in SERVED} == KAFKA_3_9_LAST.keys()
    missing = KAFKA_3_9_LAST.keys() - {played.key for played in SCENARIOS}
    assert not missing


def test_the_reference_has_these_versions(brokers: tuple[BrokerProcess, BrokerProcess]) -> None:
    stage = Play(brokers[0].port, "versions")
    answer = stage.do(ApiKey.API_VERSIONS, 0)
    stage.close()
    last = {row.api_key: row.max_version for row in answer.api_keys}
    assert {key: last[key] for key in KAFKA_3_9_LAST} == KAFKA_3_9_LAST


def test_accepted_differences_are_documented() -> None:
    page = REPOSITORY / "docs" / "explanation" / "differences.md"
    headings = set(re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE))
    assert {entry.why for entry in ACCEPTED} <= headings


def test_scenarios_have_names_of_their_own() -> None:
    names = [played.name for played in SCENARIOS]
    assert len(names) == len(set(names))
