"""Share groups as the tools of Kafka 4.3 show them, here and beside a real one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from real_kafka import RealKafka
from tool_bench import insist_on_tools, side_by_side

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.broker_process import BrokerProcess

SCRIPT = """
topics --create --topic s1 --partitions 2
console-producer --topic s1 PARSE
share-groups --list
share-groups --describe --group nothere
configs --alter --group sg --add-config share.auto.offset.reset=earliest
configs --describe --group sg
console-share-consumer --topic s1 --group sg --max-messages 20 --timeout-ms 30000
share-groups --list
share-groups --list --state
share-groups --list --state stable,empty
all-groups --list --share
share-groups --describe --group sg
share-groups --describe --group sg --offsets --verbose
share-groups --describe --group sg --members --verbose
share-groups --describe --group sg --state --verbose
share-groups --describe --all-groups
share-groups --reset-offsets --group sg --topic s1 --to-earliest --dry-run
share-groups --reset-offsets --group sg --topic s1 --to-earliest --execute
share-groups --describe --group sg
console-share-consumer --topic s1 --group sg --max-messages 20 --timeout-ms 30000 --reject
share-groups --describe --group sg
share-groups --reset-offsets --group sg --topic s1:0 --to-latest --execute
share-groups --reset-offsets --group sg --topic s1 --to-datetime 2020-01-01T00:00:00.000 --execute
share-groups --reset-offsets --group sg --topic nothere --to-earliest --execute
share-groups --describe --group sg
groups --describe --group sg
groups --delete --group sg
share-groups --delete-offsets --group sg --topic s1
share-groups --delete-offsets --group sg --topic nothere
share-groups --describe --group sg
share-groups --delete --group sg --group nothere
share-groups --list
"""


@pytest.fixture(scope="module")
def kafka() -> Iterator[RealKafka]:
    settings = {"group.share.delivery.count.limit": "4", "group.share.record.lock.duration.ms": "60000"}
    with RealKafka("4.3.0", settings) as kafka:
        yield kafka


@pytest.mark.thorough("the differential test has the requests of the tools")
def test_the_tools_print_the_same(
    kafka: RealKafka, new_broker: Callable[..., BrokerProcess], tmp_path: Path
) -> None:
    """The share consumer of the Java client is one of them."""
    insist_on_tools()
    ours = new_broker({"broker.id": "1"})
    with ours, side_by_side(kafka.version, {1: ours}, {1: kafka}, {}, tmp_path) as benches:
        benches.compare(SCRIPT)
