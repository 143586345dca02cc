"""Fetch over real logs: what is read, by whom, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from kcompat.api import fetch
from kcompat.api.charges import Charges
from kcompat.api.context import Interruptible
from kcompat.cluster.control_requests import Role
from kcompat.cluster.image import BrokerInfo
from kcompat.config.broker import BrokerConfig
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.replication.leading.leader import Leader
from kcompat.replication.preferred_replica import RACK_AWARE_SELECTOR
from kcompat.security.authorizer import CLUSTER, Resource
from kcompat.security.operations import Operation
from kcompat.security.quotas.clients import ClientQuota
from kcompat.security.quotas.rates import LimitedRate, QuotaWindow
from support.asking import Denying
from support.topics_on_disk import ME, ONE, TWO, TopicsFixture, batch, rows

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def fixture(tmp_path: Path) -> TopicsFixture:
    fixture = TopicsFixture(tmp_path)
    fixture.create("t", partitions=2, topic_id=ONE)
    fixture.create("u", topic_id=TWO)
    fixture.produce((0, batch(b"v")))
    return fixture


STRANGE = b"?" * 16
BY_ID = 13
FOLLOWER = 2


def asking(*partitions: tuple[str | bytes, int], **fields: Any) -> FetchRequest:
    """A fetch from offset 0 that does not wait; topics by name, or by id where they are bytes."""
    topics = []
    for topic, index in partitions:
        row = FetchRequest.FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1 << 20)
        named = {"topic_id": topic} if isinstance(topic, bytes) else {"topic": topic}
        topics.append(FetchRequest.FetchTopic(**named, partitions=[row]))
    common = {"replica_id": -1, "max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, "session_epoch": -1}
    return FetchRequest(topics=topics, **{**common, **fields})


def errors(answer: Any) -> list[int]:
    return [row.error_code for topic in answer.responses for row in topic.partitions]


def found(answer: Any) -> list[tuple[int, int, int]]:
    """Error, high watermark and bytes of each partition."""
    return [
        (row.error_code, row.high_watermark, len(row.records or b""))
        for topic in answer.responses
        for row in topic.partitions
    ]


@pytest.mark.parametrize("version", [4, 12, 13, 18])
def test_what_is_there_is_read_at_once(fixture: TopicsFixture, version: int) -> None:
    size = fixture.partition("t").log.size
    known: tuple[Any, Any, Any] = (ONE, TWO, STRANGE) if version >= BY_ID else ("t", "u", "none")
    answer = ask(fixture, version, asking((known[0], 0), (known[1], 0), (known[2], 0)))
    unknown = 100 if version >= BY_ID else 3
    assert found(answer) == [(0, 1, size), (0, 0, 0), (unknown, -1, 0)]


def ask(fixture: TopicsFixture, version: int, request: FetchRequest) -> Any:
    """The answer as the handler gives it: its records are ranges of files."""
    return fetch.handle(fixture.context(version), request)


def test_a_fetch_waits_for_data_or_until_it_is_interrupted(fixture: TopicsFixture) -> None:
    waiting = ask(fixture, 11, asking(("u", 0), max_wait_ms=500))
    assert isinstance(waiting, Interruptible)
    assert not waiting.promise.done
    waiting.interrupt()
    assert found(waiting.promise.value) == [(0, 0, 0)]
    waiting = ask(fixture, 11, asking(("u", 0), max_wait_ms=500))
    fixture.clock.advance(500)
    assert found(waiting.promise.value) == [(0, 0, 0)]


def test_an_unknown_isolation_level_refuses_every_partition(fixture: TopicsFixture) -> None:
    answer = ask(fixture, 11, asking(("t", 0), isolation_level=7))
    assert (answer.error_code, errors(answer)) == (-1, [-1])
    assert ask(fixture, 13, asking((ONE, 0), isolation_level=7)).responses == []


def test_a_session_tells_only_what_changed(fixture: TopicsFixture) -> None:
    opened = ask(fixture, 11, asking(("t", 0), ("u", 0), session_epoch=0))
    assert opened.session_id
    again = ask(fixture, 11, asking(session_id=opened.session_id, session_epoch=1))
    assert [topic.topic for topic in again.responses] == ["t"], "its records are not read yet"
    assert ask(fixture, 11, asking(session_id=opened.session_id, session_epoch=1)).error_code == 71
    assert ask(fixture, 11, asking(session_id=opened.session_id + 1, session_epoch=2)).error_code == 70


def test_a_topic_that_demands_zstd_is_not_for_old_versions(fixture: TopicsFixture) -> None:
    fixture.create("z", compression_type="zstd")
    assert errors(ask(fixture, 9, asking(("z", 0), ("u", 0)))) == [76, 0]
    assert errors(ask(fixture, 10, asking(("z", 0)))) == [0]


@pytest.mark.parametrize(("version", "is_read"), [(2, False), (3, True), (4, True)])
def test_a_first_batch_beyond_the_limit_is_read_whole_from_version_3_on(
    fixture: TopicsFixture, version: int, is_read: bool
) -> None:
    request = asking(("t", 0))
    request.topics[0].partitions[0].partition_max_bytes = 1
    (row,) = ask(fixture, version, request).responses[0].partitions
    assert bool(row.records) is is_read


@pytest.mark.parametrize("version", [4, 12])
def test_needs_to_read_the_topic_and_learns_nothing_else(fixture: TopicsFixture, version: int) -> None:
    hidden = ("u", "none")
    fixture.services.server.authorizer = Denying(*((Operation.READ, Resource.topic(name)) for name in hidden))
    answer = ask(fixture, version, asking(("t", 0), ("u", 0), ("none", 0), ("gone", 0)))
    assert errors(answer) == [0, 29, 29, 3]


def test_an_unknown_id_is_no_secret(fixture: TopicsFixture) -> None:
    fixture.services.server.authorizer = Denying((Operation.READ, Resource.topic("u")))
    assert errors(ask(fixture, 13, asking((ONE, 0), (TWO, 0), (STRANGE, 0)))) == [0, 29, 100]


@pytest.mark.parametrize("version", [11, 15])
def test_whoever_says_that_it_is_a_follower_must_be_a_broker(fixture: TopicsFixture, version: int) -> None:
    """A client that names a replica's id gains nothing by it (CVE-2018-1288)."""
    known: tuple[Any, Any] = (ONE, STRANGE) if version >= BY_ID else ("t", "none")
    state = FetchRequest.ReplicaState(replica_id=2)
    follower = asking((known[0], 0), (known[1], 0), replica_id=2, replica_state=state)
    fixture.services.server.authorizer = Denying((Operation.CLUSTER_ACTION, CLUSTER))
    assert errors(ask(fixture, version, follower)) == [29, 29]
    fixture.services.server.authorizer = Denying((Operation.READ, Resource.topic("t")))
    assert errors(ask(fixture, version, follower)) == [6, 100 if version >= BY_ID else 3]


def following(version: int, *wanted: tuple[Any, int, int], broker_epoch: int = -1, **settings: Any) -> Any:
    """The fetch of a follower: (topic, partition, offset)."""
    state = FetchRequest.ReplicaState(FOLLOWER, broker_epoch)
    request = asking(
        *((topic, index) for topic, index, _ in wanted), replica_id=FOLLOWER, replica_state=state, **settings
    )
    for topic, (_, _, offset) in zip(request.topics, wanted, strict=True):
        topic.partitions[0].fetch_offset = offset
    return request


@pytest.fixture
def leading(fixture: TopicsFixture) -> TopicsFixture:
    """The broker leads "t", which a follower has a replica of, too."""
    for name in ("t", "u"):
        role = Role(leader=ME, leader_epoch=1, isr=(ME, FOLLOWER), replicas=(ME, FOLLOWER))
        fixture.replicas.take_role(name, 0, role)
    return fixture


@pytest.mark.parametrize("version", [4, 12, 15])
def test_a_follower_reads_to_the_log_end_and_says_what_it_has(leading: TopicsFixture, version: int) -> None:
    topic: Any = ONE if version >= BY_ID else "t"
    partition = leading.partition("t")
    leading.produce((0, batch(b"y")))
    assert (partition.high_watermark, partition.log.log_end_offset) == (1, 2)
    answer = ask(leading, version, following(version, (topic, 0, 0)))
    assert found(answer) == [(0, 1, partition.log.size)]
    answer = ask(leading, version, following(version, (topic, 0, 2)))
    assert found(answer) == [(0, 1, 0)], "as it was before the fetch"
    assert partition.high_watermark == 2


def test_a_produce_to_all_is_answered_when_the_follower_has_it(leading: TopicsFixture) -> None:
    produced = leading.produce((0, batch(b"y")), acks=-1)
    reading = asking(("t", 0), max_wait_ms=500)
    reading.topics[0].partitions[0].fetch_offset = 1
    consumer = ask(leading, 11, reading)
    follower = ask(leading, 11, following(11, ("t", 0, 2), max_wait_ms=500))
    assert rows(produced.value) == [(0, 0, 1)]
    leading.clock.advance(0)
    assert [size for _, _, size in found(consumer.promise.value)] != [0]
    assert not follower.promise.done
    leading.produce((0, batch(b"z")))
    leading.clock.advance(0)
    assert [size for _, _, size in found(follower.promise.value)] != [0], "by the append alone"


def test_what_is_appended_while_a_follower_waits_does_not_make_it_late(leading: TopicsFixture) -> None:
    """The end of the wait is no further fetch."""
    partition = leading.partition("t")
    waiting = ask(leading, 11, following(11, ("t", 0, 1), max_wait_ms=500))
    leading.clock.advance(100)
    leading.produce((0, batch(b"y")))
    leading.clock.advance(0)
    assert waiting.promise.done
    assert isinstance(partition.state, Leader)
    remote = partition.state.remotes[FOLLOWER]
    assert (remote.last_fetch_leader_end, leading.clock.now_ms() - remote.last_fetch_ms) == (1, 100)


def test_a_follower_whose_log_is_another_moves_nothing(leading: TopicsFixture) -> None:
    """KIP-595: it has to truncate before it counts."""
    request = following(12, ("t", 0, 2))
    request.topics[0].partitions[0].last_fetched_epoch = 0
    answer = ask(leading, 12, request)
    diverging = answer.responses[0].partitions[0].diverging_epoch
    assert (diverging.epoch, diverging.end_offset) == (0, 1)
    state = leading.partition("t").state
    assert isinstance(state, Leader)
    assert state.remotes[FOLLOWER].log_end_offset == -1


@pytest.mark.parametrize(("epoch", "error"), [(-1, 6), (1, 75)])
def test_a_broker_without_a_replica_is_not_served(leading: TopicsFixture, epoch: int, error: int) -> None:
    request = following(11, ("t", 0, 0))
    request.replica_id = FOLLOWER + 1
    request.topics[0].partitions[0].current_leader_epoch = epoch
    assert errors(ask(leading, 11, request)) == [error]


def test_a_former_life_of_a_follower_is_not_heard(leading: TopicsFixture) -> None:
    assert errors(ask(leading, 15, following(15, (ONE, 0, 1), broker_epoch=7))) == [0]
    assert errors(ask(leading, 15, following(15, (ONE, 0, 0), broker_epoch=6))) == [6]
    assert errors(ask(leading, 15, following(15, (ONE, 0, 1), broker_epoch=8))) == [0]


# -- followers serve consumers (KIP-392), and say who leads (KIP-951) --------------------------------------


@pytest.fixture
def racks(leading: TopicsFixture) -> TopicsFixture:
    """The follower is in sync, in the rack of the consumer."""
    names = {"PLAINTEXT": ("other", 9093)}
    brokers = {ME: BrokerInfo(ME, "here", {}), FOLLOWER: BrokerInfo(FOLLOWER, "there", names)}
    leading.cluster.image = replace(leading.cluster.image, brokers=brokers)
    leading.services.cluster.broker_id = ME
    leading.services.server.config_feed.replace(BrokerConfig({"replica.selector.class": RACK_AWARE_SELECTOR}))
    ask(leading, 11, following(11, ("t", 0, 1), ("u", 0, 0)))
    return leading


def sent_to(answer: Any) -> list[int]:
    return [row.preferred_read_replica for topic in answer.responses for row in topic.partitions]


def test_a_consumer_is_sent_to_its_rack_at_once(racks: TopicsFixture) -> None:
    answer = ask(racks, 11, asking(("t", 0), ("u", 0), rack_id="there", max_wait_ms=500, min_bytes=1 << 20))
    assert sent_to(answer) == [FOLLOWER, FOLLOWER]
    assert found(answer) == [(0, 1, 0), (0, 0, 0)], "and reads nothing here"


@pytest.mark.parametrize("rack", ["", "here", "nowhere"])
def test_else_it_reads_from_the_leader(racks: TopicsFixture, rack: str) -> None:
    assert sent_to(ask(racks, 11, asking(("t", 0), rack_id=rack))) == [-1]


def test_nobody_is_sent_away_unless_that_is_configured(racks: TopicsFixture) -> None:
    racks.services.server.config_feed.replace(BrokerConfig())
    assert sent_to(ask(racks, 11, asking(("t", 0), rack_id="there"))) == [-1]


def test_a_session_tells_again_where_to_read(racks: TopicsFixture) -> None:
    opened = ask(racks, 11, asking(("t", 0), session_epoch=0, rack_id="there"))
    again = asking(session_id=opened.session_id, session_epoch=1, rack_id="there")
    assert sent_to(ask(racks, 11, again)) == [FOLLOWER]


def stand_back(fixture: TopicsFixture) -> None:
    """The other broker leads "t" now."""
    role = Role(leader=FOLLOWER, leader_epoch=2, isr=(ME, FOLLOWER), replicas=(ME, FOLLOWER))
    fixture.replicas.take_role("t", 0, role)


def test_a_follower_serves_who_knows_of_it(racks: TopicsFixture) -> None:
    stand_back(racks)
    assert errors(ask(racks, 10, asking(("t", 0)))) == [6]
    assert found(ask(racks, 11, asking(("t", 0)))) == [(0, 1, racks.partition("t").log.size)]
    assert errors(ask(racks, 11, following(11, ("t", 0, 0)))) == [6], "but no follower"


@pytest.mark.parametrize(("version", "is_said"), [(15, False), (16, True)])
def test_who_leads_instead_is_said_with_the_way_there(
    racks: TopicsFixture, version: int, is_said: bool
) -> None:
    stand_back(racks)
    fenced = asking((ONE, 0))
    fenced.topics[0].partitions[0].current_leader_epoch = 1
    answer = ask(racks, version, fenced)
    (row,) = answer.responses[0].partitions
    leader = (row.current_leader.leader_id, row.current_leader.leader_epoch)
    nodes = [(node.node_id, node.host, node.port, node.rack) for node in answer.node_endpoints]
    assert (row.error_code, leader) == (74, (FOLLOWER, 2) if is_said else (-1, -1))
    assert nodes == ([(FOLLOWER, "other", 9093, "there")] if is_said else [])


def charge(fixture: TopicsFixture, rate: LimitedRate) -> Charges:
    """Charge the next fetch to a client that has used this much of its `consumer_byte_rate`."""
    fixture.charges = Charges(ClientQuota(None, rate, None, None), fixture.clock.now_ms)
    return fixture.charges


def test_a_throttled_fetch_is_empty_and_its_bytes_do_not_count(fixture: TopicsFixture) -> None:
    rate = LimitedRate(10, QuotaWindow())
    for _ in range(3):
        charges = charge(fixture, rate)
        answer = ask(fixture, 11, asking(("t", 0)))
        assert (answer.session_id, answer.responses) == (0, [])
        assert charges.throttle_ms == pytest.approx(4000, rel=0.2)


def test_a_fetch_within_the_quota_counts(fixture: TopicsFixture) -> None:
    size = fixture.partition("t").log.size
    rate = LimitedRate(size / 4, QuotaWindow())
    charges = charge(fixture, rate)
    assert found(ask(fixture, 11, asking(("t", 0)))) == [(0, 1, size)]
    assert charges.throttle_ms == 0
    charges = charge(fixture, rate)
    assert ask(fixture, 11, asking(("t", 0))).responses == []
    assert charges.throttle_ms > 0


def test_a_throttled_fetch_opens_no_session(fixture: TopicsFixture) -> None:
    charge(fixture, LimitedRate(1, QuotaWindow()))
    assert ask(fixture, 11, asking(("t", 0), session_epoch=0)).session_id == 0
    assert len(fixture.services.storage.fetch_sessions) == 0


def test_a_session_tells_after_the_throttling_what_it_did_not_tell(fixture: TopicsFixture) -> None:
    opened = ask(fixture, 11, asking(("t", 0), ("u", 0), session_epoch=0))
    fixture.produce((0, batch(b"v")), topic="u")
    charge(fixture, LimitedRate(1, QuotaWindow()))
    throttled = ask(fixture, 11, asking(session_id=opened.session_id, session_epoch=1))
    assert (throttled.session_id, throttled.responses) == (opened.session_id, [])
    fixture.charges = None
    again = ask(fixture, 11, asking(session_id=opened.session_id, session_epoch=2))
    assert sorted(topic.topic for topic in again.responses) == ["t", "u"]


def test_a_fetch_asks_for_no_more_than_the_quota_allows_at_once(fixture: TopicsFixture) -> None:
    for _ in range(40):
        fixture.produce((0, batch(b"v" * 1000)))
    rate = LimitedRate(600, QuotaWindow())
    charges = charge(fixture, rate)
    assert ask(fixture, 11, asking(("t", 0))).responses == []
    assert 0 < charges.throttle_ms < 200, "its records fit, but not what carries them"
    fixture.clock.advance(charges.throttle_ms)
    charges = charge(fixture, rate)
    (row,) = ask(fixture, 11, asking(("t", 0))).responses[0].partitions
    assert 5000 < len(row.records) <= 6000
    assert charges.throttle_ms == 0


def test_a_fetch_that_waits_for_more_than_the_quota_allows_waits_for_that(fixture: TopicsFixture) -> None:
    charge(fixture, LimitedRate(20, QuotaWindow()))
    waiting = ask(fixture, 11, asking(("u", 0), max_wait_ms=500, min_bytes=1 << 20))
    fixture.produce((0, batch(b"v" * 300)), topic="u")
    fixture.clock.advance()
    assert waiting.promise.done


def test_a_follower_has_no_quota(fixture: TopicsFixture) -> None:
    charges = charge(fixture, LimitedRate(1, QuotaWindow()))
    answer = ask(fixture, 11, asking(("t", 0), replica_id=FOLLOWER))
    assert len(answer.responses) == 1
    assert charges.settle() == 0


@pytest.mark.parametrize("replica", [-1, FOLLOWER])
def test_bytes_of_records_are_counted_for_their_reader(fixture: TopicsFixture, replica: int) -> None:
    role = Role(leader=ME, leader_epoch=1, isr=(ME, FOLLOWER), replicas=(ME, FOLLOWER))
    fixture.partition("t").take_role(role)
    size = fixture.partition("t").log.size
    answer = ask(fixture, 12, asking(("t", 0), ("none", 0), replica_id=replica))
    assert found(answer)[0][2] == size
    counts = fixture.partition("t").statistics
    assert (counts.bytes_out, counts.bytes_to_followers) == ((0, size) if replica >= 0 else (size, 0))
    assert counts.failed_fetches == 0
