"""`kafka-transactions` prints of open and hanging transactions what it prints with Kafka, and ends them."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import pytest

from differential.play import Play
from differential.transactions import Identity, begun, coordinated, end, write
from kcompat.protocol.api_keys import ApiKey
from real_kafka import RealKafka
from tool_bench import VERSIONS, insist_on_tools, side_by_side

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from support.broker_process import BrokerProcess

UNVERIFIED = {"transaction.partition.verification.enable": "false", "log.retention.ms": "-1"}
"""A transaction can begin unknown to its coordinator, as with brokers before Kafka 3.6; old records stay."""
STRANGER = Identity("tools-stranger", 777, 3)
"""A producer that no coordinator knows."""
KINDS = ("open", "committed", "aborted", "idle")
LONG_MS = 900_000
"""The longest timeout that a broker grants: no transaction ends by itself while the tools run."""

OPEN = """
transactions list
transactions list --duration-filter -1
transactions list --duration-filter 0
transactions list --duration-filter 86400000
transactions describe --transactional-id tools-open
transactions describe --transactional-id tools-committed
transactions describe --transactional-id tools-aborted
transactions describe --transactional-id tools-idle
transactions describe --transactional-id tools-nobody
transactions describe-producers --topic tools-t --partition 0
transactions describe-producers --topic tools-t --partition 1 --broker-id 1
"""

HANGING = """
transactions find-hanging
transactions find-hanging --partition 0
transactions find-hanging --topic tools-t
transactions find-hanging --topic tools-t --partition 1
transactions find-hanging --topic tools-t --partition 1 --max-transaction-timeout 2000000000
transactions find-hanging --topic tools-nothing
transactions find-hanging --broker-id 1
transactions find-hanging --broker-id 9
transactions abort --topic tools-t --partition 1
transactions abort --topic tools-t --partition 1 --start-offset 77
transactions abort --topic tools-t --partition 1 --start-offset 0
transactions abort --topic tools-t --partition 1 --start-offset 0
transactions describe-producers --topic tools-t --partition 1
transactions abort --topic tools-t --partition 2 --producer-id 777
transactions abort --topic tools-t --partition 2 --producer-id 777 --producer-epoch 3
transactions abort --topic tools-t --partition 2 --producer-id 777 --producer-epoch 2 --coordinator-epoch -1
transactions abort --topic tools-t --partition 2 --producer-id 777 --producer-epoch 3 --coordinator-epoch -1
transactions describe-producers --topic tools-t --partition 2
transactions find-hanging --topic tools-t
"""

TERMINATED = """
transactions describe --transactional-id tools-open
transactions forceTerminateTransaction --transactionalId tools-open
transactions describe --transactional-id tools-open
transactions forceTerminateTransaction --transactionalId tools-idle
transactions describe --transactional-id tools-idle
transactions forceTerminateTransaction --transactionalId tools-nobody
transactions describe --transactional-id tools-nobody
transactions list --transactional-id-pattern tools-(o|i).*
transactions list --transactional-id-pattern (
transactions list
"""


SCRIPTS = {"3.9.2": OPEN + HANGING, "4.3.0": OPEN + HANGING + TERMINATED}


@pytest.mark.thorough("the differential test has the requests of the tool")
@pytest.mark.parametrize("release", VERSIONS)
def test_a_tool_prints_what_it_prints_with_kafka(
    new_broker: Callable[..., BrokerProcess], tmp_path: Path, release: str
) -> None:
    insist_on_tools()
    with (
        new_broker(properties={"broker.id": "1", **UNVERIFIED}) as ours,
        RealKafka(release, UNVERIFIED) as kafka,
        side_by_side(release, {1: ours}, {1: kafka}, {}, tmp_path) as benches,
    ):
        fill(ours, kafka)
        benches.compare(SCRIPTS[release])
        assert "Traceback" not in ours.log_tail(1_000_000), ours.log_tail(8000)


def fill(*brokers: BrokerProcess) -> None:
    """On each broker one transaction of each kind, with batches that are long past, and three that hang.

    The producers of the brokers have the same ids.
    """
    with ExitStack() as stack:
        plays = [stack.enter_context(closing(Play(broker.port, "tools"))) for broker in brokers]
        for play in plays:
            for kind in KINDS:
                coordinated(play, play.name(kind))
        _level_ids(plays)
        for play in plays:
            _fill(play)


def _level_ids(plays: Sequence[Play]) -> None:
    """Use up ids of producers until the brokers have given away as many: one that was ready late, more."""

    def given(play: Play) -> int:
        answer = play.do(ApiKey.INIT_PRODUCER_ID, 1, transactional_id=None, transaction_timeout_ms=1)
        return int(answer.producer_id)

    last = [given(play) for play in plays]
    for play, id_ in zip(plays, last, strict=True):
        while id_ < max(last):
            id_ = given(play)


def _fill(play: Play) -> None:
    topic = play.topic(partitions=3)
    opened, committed, aborted, _ = (begun(play, play.name(kind), LONG_MS) for kind in KINDS)
    for who, commits in ((committed, True), (aborted, False)):
        write(play, who, topic, b"ended")
        end(play, who, commits=commits)
    write(play, opened, topic, b"open")
    hang(play, committed, topic, 1, sequence=1)
    hang(play, STRANGER, topic, 0)
    hang(play, STRANGER, topic, 2)


def hang(play: Play, who: Identity, topic: str, partition: int, sequence: int = 0) -> None:
    """Write a batch of a transaction that its coordinator does not know of."""
    rows = [{"index": partition, "records": who.batch(b"hangs", sequence=sequence)}]
    answer = play.do(
        ApiKey.PRODUCE, 9, transactional_id=who.name, acks=-1, timeout_ms=10_000,
        topic_data=[{"name": topic, "partition_data": rows}],
    )  # fmt: skip
    assert answer.responses[0].partition_responses[0].error_code == 0, answer
