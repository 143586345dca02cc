"""`kafka-consumer-groups` and `kafka-configs` print of groups what they print with Kafka 4.3."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from differential.members import SYNC, join_for_long, ready
from differential.play import Play
from differential.scenarios.consumer_groups import going_on, known_topic, owning
from differential.scenarios.consumer_groups import joining as consuming
from kcompat.protocol.api_keys import ApiKey
from real_kafka import RealKafka
from support.consumer_texts import assignment
from tool_bench import insist_on_tools, side_by_side

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.broker_process import BrokerProcess
    from tool_bench import Benches

RELEASE = "4.3.0"
BEAT = ApiKey.CONSUMER_GROUP_HEARTBEAT
ALONE, NEW, MIXED, GONE = "tools-classic", "tools-new", "tools-mixed", "tools-gone"

LOOKS = f"""
groups --list
groups --list --state
groups --list --type
groups --list --type consumer
groups --list --type classic
groups --list --type Consumer --state Stable
groups --list --type nonsense
groups --list --state Reconciling,Stable,Assigning
groups --validate-regex t.*
groups --validate-regex (
groups --describe --group {NEW}
groups --describe --group {NEW} --offsets --verbose
groups --describe --group {NEW} --members
groups --describe --group {NEW} --members --verbose
groups --describe --group {NEW} --state
groups --describe --group {NEW} --state --verbose
groups --describe --group {MIXED} --members --verbose
groups --describe --group {MIXED} --state --verbose
groups --describe --group {ALONE} --members --verbose
groups --describe --group {ALONE} --state --verbose
groups --describe --group {GONE}
groups --describe --group {GONE} --members
groups --describe --group {GONE} --state
"""

CHANGES = f"""
groups --reset-offsets --group {NEW} --topic tools-t --to-earliest --execute
groups --delete --group {NEW}
groups --delete-offsets --group {NEW} --topic tools-t
groups --reset-offsets --group {GONE} --topic tools-t --to-earliest
groups --reset-offsets --group {GONE} --topic tools-t:0 --to-offset 0 --execute
groups --describe --group {GONE} --offsets
groups --delete-offsets --group {GONE} --topic tools-t:0
groups --delete --group {GONE}
groups --delete --group {GONE}
groups --list --type
"""

CONFIGS = f"""
configs --describe --entity-type groups --entity-name {NEW}
configs --alter --entity-type groups --entity-name {NEW} --add-config consumer.session.timeout.ms=50000
configs --describe --entity-type groups --entity-name {NEW}
configs --describe --entity-type groups
configs --alter --group {NEW} --add-config consumer.session.timeout.ms=1
configs --alter --group {NEW} --add-config nonsense=1
configs --alter --group {NEW} --delete-config consumer.session.timeout.ms
configs --describe --group {NEW}
configs --describe --entity-type groups
"""


@pytest.fixture(scope="module")
def benches(
    new_broker: Callable[..., BrokerProcess], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Benches]:
    """Ours and Kafka with the same groups: classic, new, one of both, and one whose member has left."""
    insist_on_tools()
    at = tmp_path_factory.mktemp("group-tools")
    with (
        new_broker(properties={"broker.id": "1"}) as ours,
        RealKafka(RELEASE) as kafka,
        side_by_side(RELEASE, {1: ours}, {1: kafka}, {}, at) as both,
    ):
        plays = [Play(broker.port, "tools") for broker in (ours, kafka)]
        for play in plays:
            fill(play)
        yield both
        for play in plays:
            play.close()


def fill(play: Play) -> None:
    """Make the groups. Sessions outlast the test; which member has what goes by their ids."""
    ready(play)
    topic = known_topic(play, partitions=3)
    number = play.topic_id(topic)
    wish = {"subscribed_topic_names": [topic], "rebalance_timeout_ms": 300_000, "server_assignor": "range"}
    for group in (NEW, MIXED, GONE):
        joined = play.do(BEAT, 1, **consuming(group, "m1", **wish))
        if group == GONE:
            commit(play, group, topic, "m1", joined.member_epoch)
            play.do(BEAT, 1, **going_on(group, "m1", -1))
        elif group == NEW:
            commit(play, group, topic, "m1", joined.member_epoch)
            later = play.do(BEAT, 1, **consuming(group, "m2", **wish, instance_id="i")).member_epoch
            for has in ((0, 1, 2), (0, 1)):
                told = owning(number, *has)
                epoch = joined.member_epoch
                joined = play.do(BEAT, 1, **going_on(group, "m1", epoch, topic_partitions=told))
            play.do(BEAT, 1, **going_on(group, "m2", later, instance_id="i"))
    join_for_long(play, MIXED, topic, "c1")
    joined = join_for_long(play, ALONE, topic, group_instance_id="static")
    given = [{"member_id": joined.member_id, "assignment": assignment(frozenset({(topic, 0), (topic, 2)}))}]
    who = {"group_id": ALONE, "generation_id": joined.generation_id, "member_id": joined.member_id}
    answer = play.do(SYNC, 3, **who, group_instance_id="static", assignments=given)
    assert not answer.error_code, answer


def commit(play: Play, group: str, topic: str, member: str, epoch: int) -> None:
    rows = [{"partition_index": index, "committed_offset": 0} for index in (0, 1)]
    who = {"group_id": group, "member_id": member, "generation_id_or_member_epoch": epoch}
    answer = play.do(ApiKey.OFFSET_COMMIT, 9, **who, topics=[{"name": topic, "partitions": rows}])
    assert not answer.topics[0].partitions[0].error_code, answer


@pytest.mark.parametrize("script", [LOOKS, CONFIGS, CHANGES], ids=("looks", "configs", "changes"))
def test_a_tool_prints_what_it_prints_with_kafka(benches: Benches, script: str) -> None:
    benches.compare(script)
