"""`kafka-features` shows and changes features as with Kafka 4.3, whose clients then go by them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from real_kafka import RealKafka
from tool_bench import TIMES_TO_LOOK, insist_on_tools, side_by_side

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.broker_process import BrokerProcess
    from tool_bench import Bench

pytestmark = pytest.mark.thorough("the differential test asks and changes features")

RELEASE = "4.3.0"
NAME = re.compile(r"(transaction|group|share|streams)\.version")
SCRIPT = """
features describe
features downgrade --feature transaction.version=1
features describe
features upgrade --feature transaction.version=2 --dry-run
features describe
features downgrade --feature transaction.version=0
features describe
features upgrade --feature transaction.version=2
features describe
features disable --feature transaction.version
features describe
features downgrade --feature group.version=0
features describe
features upgrade --feature group.version=1
features describe
features downgrade --feature share.version=0
features describe
features upgrade --feature share.version=1
features describe
"""


def said(bench: Bench, line: str) -> list[str]:
    """Return the lines of a tool about the features, without the number of changes so far."""
    ended = bench.run(line)
    lines = f"exit code {ended.code}\n{ended.out}\n{ended.err}".splitlines()
    return [re.sub(r"\s*Epoch: \d+", "", each) for each in lines if NAME.search(each) or "exit" in each]


def test_levels_are_shown_and_changed(new_broker: Callable[..., BrokerProcess], tmp_path: Path) -> None:
    insist_on_tools()
    with (
        new_broker() as ours,
        RealKafka(RELEASE) as kafka,
        side_by_side(RELEASE, {0: ours}, {1: kafka}, {}, tmp_path) as benches,
    ):
        for line in SCRIPT.strip().splitlines():
            ours = said(benches.ours, line)
            for _ in range(TIMES_TO_LOOK if "describe" in line else 1):  # Kafka shows a change a moment later
                if (kafkas := said(benches.kafka, line)) == ours:
                    break
            assert ours == kafkas, line
