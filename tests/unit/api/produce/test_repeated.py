"""A Produce like an earlier one is answered as if it had been read."""

from __future__ import annotations

import errno
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from kcompat.api.dispatcher import Dispatcher
from kcompat.api.produce.repeated import LONGEST_HEAD, MOST_KNOWN
from kcompat.api.registry import SERVED
from kcompat.cluster.control_requests import Role
from kcompat.cluster.image import ClusterImage
from kcompat.logger_names import AUTHORIZER
from kcompat.net.answers import CLOSE, Waiting
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.compression import Codec
from kcompat.security.acl_authorizer import AclAuthorizer
from kcompat.security.acls import AclEntry, PermissionType, ResourcePattern
from kcompat.security.operations import Operation, ResourceType
from kcompat.security.principals import USER, Principal
from support.asking import Client, Denying
from support.raw_client import request_frame, response_in
from support.topics_on_disk import ME, ONE, TWO, TopicsFixture, batch, rows, topic_data

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kcompat.api.context import RequestContext

OTHER = 2
BIG = bytes(1000 * 1000)
(PRODUCE,) = (served for served in SERVED if served.key == ApiKey.PRODUCE)
versions = pytest.mark.parametrize("version", range(3, 14))


class Wire:
    """A broker behind its dispatcher, with or without the shortcut."""

    def __init__(self, home: Path, *, shortcut: bool) -> None:
        home.mkdir()
        self.fixture = TopicsFixture(home)
        self.fixture.create("t", partitions=3, topic_id=ONE)
        self.handled = 0
        """Requests that the handler has had."""
        self.fixture.services.server.served = (
            replace(
                PRODUCE,
                handler=lambda: self._handle,
                shortcut=PRODUCE.shortcut if shortcut else None,
            ),
        )
        self._dispatcher = Dispatcher(self.fixture.services)

    def _handle(self, context: RequestContext, request: ProduceRequest) -> Any:
        self.handled += 1
        return PRODUCE.handler()(context, request)

    def send(
        self,
        data: bytes | None,
        *,
        version: int,
        acks: int = 1,
        index: int = 0,
        topic: str = "t",
        topic_id: bytes = ONE,
        timeout_ms: int = 1000,
        client_id: str = "me",
    ) -> Any:
        """The answer to one batch; its frame is gone then."""
        named = topic_data((index, data), topic=topic, topic_id=topic_id)
        request = ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=[named])
        frame = bytearray(request_frame(request, version, 7, client_id)[4:])
        answer = self._dispatcher.on_frame(self.fixture.peer, memoryview(frame))
        for position in range(len(frame)):
            frame[position] = 0xEE
        return answer


class Pair:
    """A broker with the shortcut beside one that reads every request."""

    def __init__(self, home: Path) -> None:
        self.short = Wire(home / "short", shortcut=True)
        self.long = Wire(home / "long", shortcut=False)

    def send(self, data: bytes | None, *, version: int = 9, **more: Any) -> Any:
        """The response of both, which is the same; of one that is to come, a function that gives it then."""
        short, long = (wire.send(data, version=version, **more) for wire in (self.short, self.long))
        if isinstance(short, Waiting) and isinstance(long, Waiting):
            assert short.mode is long.mode
            return lambda: self._same(short.promise.value, long.promise.value, version)
        return self._same(short, long, version)

    def _same(self, short: Any, long: Any, version: int) -> Any:
        assert short == long
        if not isinstance(short, list):
            return short
        data = b"".join(short)
        assert data[4:8] == (7).to_bytes(4, "big")
        return response_in(data[4:], ProduceRequest, version)

    def each(self, change: Callable[[TopicsFixture], object]) -> None:
        """Change both brokers."""
        change(self.short.fixture)
        change(self.long.fixture)

    def values(self, topic: str = "t") -> list[bytes | None]:
        """Return the values in the first partition, which both fixtures must have alike."""
        values = self.short.fixture.values(topic)
        assert values == self.long.fixture.values(topic)
        return values


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


@versions
@pytest.mark.parametrize(("acks", "handled"), [(1, 1), (-1, 1), (0, 5)])
def test_only_the_first_is_read_if_it_is_to_be_answered(
    pair: Pair, version: int, acks: int, handled: int
) -> None:
    for number in range(5):
        answer = pair.send(batch(b"%d" % number), version=version, acks=acks)
        if acks:
            assert rows(answer) == [(0, 0, number)]
    assert pair.values() == [b"0", b"1", b"2", b"3", b"4"]
    assert (pair.short.handled, pair.long.handled) == (handled, 5)


def test_partitions_and_clients_are_told_apart(pair: Pair) -> None:
    for _ in range(2):
        for index in (0, 1, 2):
            for client_id in ("me", "you"):
                pair.send(batch(b"v"), index=index, client_id=client_id)
    assert rows(pair.send(batch(b"v"), index=1)) == [(1, 0, 4)]
    assert pair.short.handled == 6


def delete_before(offset: int, fixture: TopicsFixture) -> None:
    fixture.partition("s").delete_records_before(offset)


def test_times_and_starts_are_those_of_each_append(pair: Pair) -> None:
    pair.each(lambda fixture: fixture.create("s", message_timestamp_type="LogAppendTime"))
    for step in range(3):
        answer = pair.send(batch(b"v"), topic="s")
        (row,) = answer.responses[0].partition_responses
        assert row.log_append_time_ms == pair.short.fixture.clock.now_ms()
        assert row.log_start_offset == step
        pair.each(lambda fixture: fixture.clock.advance(10))
        pair.each(partial(delete_before, step + 1))
    assert pair.short.handled == 1


@pytest.mark.parametrize(
    "unusual",
    [
        None,
        b"",
        b"short",
        batch(b"v")[:-1],
        batch(b"v") + b"!",
        batch(b"v")[:-1] + b"!",
        batch(b"v", Codec.GZIP),
        batch(b"v" * 2_000_000),
        batch(b"v", producer_id=7, producer_epoch=0, base_sequence=0, transactional=True),
    ],
    ids=["null", "empty", "short", "cut", "more", "damaged", "gzip", "big", "transactional"],
)
def test_what_is_no_plain_batch_is_read(pair: Pair, unusual: bytes | None) -> None:
    for _ in range(2):
        pair.send(batch(b"v"))
        pair.send(unusual)
    assert pair.short.handled == 3
    assert rows(pair.send(batch(b"v")))[0][1] == 0


def test_a_batch_of_an_idempotent_producer_is_checked_for_its_sequence(pair: Pair) -> None:
    def sent(sequence: int) -> tuple[int, int, int]:
        found: tuple[int, int, int]
        (found,) = rows(pair.send(batch(b"v", producer_id=7, producer_epoch=0, base_sequence=sequence)))
        return found

    assert [sent(sequence) for sequence in (0, 1, 1, 3, 2)] == [
        (0, 0, 0),
        (0, 0, 1),
        (0, 0, 1),
        (0, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1),
        (0, 0, 2),
    ]
    assert pair.short.handled == 1


def test_what_comes_behind_a_big_batch_is_placed(pair: Pair) -> None:
    for _ in range(3):
        pair.send(batch(BIG))
    assert len(pair.short.fixture.peer.placed) == 3
    assert pair.short.fixture.peer.placed == pair.long.fixture.peer.placed


def follow(fixture: TopicsFixture, *, leader: int = ME, epoch: int = 1) -> None:
    both = Role(leader=leader, leader_epoch=epoch, isr=(ME, OTHER), replicas=(ME, OTHER))
    fixture.replicas.take_role("t", 0, both)


def test_acks_all_waits_for_followers(pair: Pair) -> None:
    pair.send(batch(b"v"), acks=-1)
    pair.each(follow)
    later = pair.send(batch(b"w"), acks=-1)
    assert rows(pair.send(batch(b"x"), acks=1)) == [(0, 0, 2)]
    pair.each(lambda fixture: fixture.clock.advance(1000))
    assert rows(later()) == [(0, ErrorCode.REQUEST_TIMED_OUT, 1)]
    assert pair.short.handled == 2


def test_what_is_there_already_is_not_acknowledged_where_the_disk_has_failed(pair: Pair) -> None:
    sent = [batch(b"v", producer_id=7, producer_epoch=0, base_sequence=number) for number in range(2)]
    pair.send(sent[0], acks=-1)
    pair.each(follow)
    pair.send(sent[1], acks=-1)
    pair.each(
        lambda fixture: fixture.partition("t").log.context.fault(OSError(errno.EIO, "Input/output error"))
    )
    assert rows(pair.send(sent[1], acks=-1)) == [(0, ErrorCode.KAFKA_STORAGE_ERROR, -1)]
    assert pair.short.handled == 1


def test_acks_all_needs_enough_in_sync(pair: Pair) -> None:
    pair.send(batch(b"v"), acks=-1)
    pair.each(follow)
    pair.each(lambda fixture: fixture.partition("t").require_in_sync(2))
    alone = Role(leader=ME, leader_epoch=2, isr=(ME,), replicas=(ME, OTHER))
    pair.each(lambda fixture: fixture.replicas.take_role("t", 0, alone))
    assert rows(pair.send(batch(b"w"), acks=-1)) == [(0, ErrorCode.NOT_ENOUGH_REPLICAS, -1)]
    assert pair.values() == [b"v"]


@versions
def test_who_leads_no_more_says_so(pair: Pair, version: int) -> None:
    pair.send(batch(b"v"), version=version)
    pair.each(lambda fixture: follow(fixture, leader=OTHER))
    answer = pair.send(batch(b"w"), version=version)
    assert rows(answer) == [(0, ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)]


@versions
def test_a_topic_that_is_gone_is_unknown(pair: Pair, version: int) -> None:
    def delete(fixture: TopicsFixture) -> None:
        fixture.cluster.image = ClusterImage("cluster")
        for index in range(3):
            fixture.replicas.remove("t", index)

    pair.send(batch(b"v"), version=version)
    pair.each(delete)
    unknown = ErrorCode.UNKNOWN_TOPIC_ID if version >= 13 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert rows(pair.send(batch(b"v"), version=version)) == [(0, unknown, -1)]


def test_a_topic_of_the_same_name_and_another_id_is_another(pair: Pair) -> None:
    def recreate(fixture: TopicsFixture) -> None:
        for index in range(3):
            fixture.replicas.remove("t", index)
        fixture.create("t", topic_id=TWO)

    pair.send(batch(b"v"), version=13)
    pair.each(recreate)
    assert rows(pair.send(batch(b"w"), version=13)) == [(0, ErrorCode.UNKNOWN_TOPIC_ID, -1)]
    assert rows(pair.send(batch(b"x"), version=13, topic_id=TWO)) == [(0, 0, 0)]
    assert pair.values() == [b"x"]


def test_a_right_that_is_taken_away_is_missed(pair: Pair) -> None:
    pair.send(batch(b"v"))
    for wire in (pair.short, pair.long):
        wire.fixture.services.server.authorizer = Denying((Operation.WRITE, ResourceType.TOPIC))
    assert rows(pair.send(batch(b"w"))) == [(0, ErrorCode.TOPIC_AUTHORIZATION_FAILED, -1)]


def test_each_client_is_served_by_its_own_rights(pair: Pair) -> None:
    alice, bob = (Principal(USER, name) for name in ("alice", "bob"))
    authorizer = AclAuthorizer()
    topic = ResourcePattern(ResourceType.TOPIC, "t")

    def send_as(principal: Principal) -> int:
        for wire in (pair.short, pair.long):
            wire.fixture.services.server.authorizer = authorizer
            wire.fixture.peer.principal = principal
        ((_, error, _),) = rows(pair.send(batch(b"v")))
        return int(error)

    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert send_as(alice) == denied
    authorizer.replace(topic, frozenset({AclEntry(Operation.WRITE, str(alice), "*", PermissionType.ALLOW)}))
    assert [send_as(each) for each in (alice, alice, bob, alice)] == [0, 0, denied, 0]
    assert pair.short.handled == 3  # the two that were denied, and the first of alice
    authorizer.replace(topic, frozenset())
    assert [send_as(each) for each in (alice, bob)] == [denied, denied]
    assert pair.values() == [b"v"] * 3


def test_each_request_is_logged_by_the_authorizer(pair: Pair, caplog: pytest.LogCaptureFixture) -> None:
    authorizer = AclAuthorizer(allows_without_acls=True)
    pair.short.fixture.services.server.authorizer = authorizer
    pair.send(batch(b"v"))
    with caplog.at_level(logging.DEBUG, AUTHORIZER):
        pair.send(batch(b"v"))
        pair.send(batch(b"v"))
    assert caplog.text.count("Allowed operation = WRITE") == 2
    assert pair.short.handled == 3


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"acks": 7}, ErrorCode.INVALID_REQUIRED_ACKS),
        ({"topic": "none"}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"index": 9}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"topic": "__consumer_offsets"}, ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_what_is_refused_is_not_remembered(pair: Pair, change: dict[str, Any], error: ErrorCode) -> None:
    pair.each(lambda fixture: fixture.create("__consumer_offsets"))
    for _ in range(2):
        ((_, refused, _),) = rows(pair.send(batch(b"v"), **change))
        assert refused == error
    assert pair.short.handled == 2


def test_a_bug_is_answered_as_in_a_handler(pair: Pair, caplog: pytest.LogCaptureFixture) -> None:
    pair.send(batch(b"v"))
    for wire in (pair.short, pair.long):
        wire.fixture.services.server.authorizer = None  # type: ignore[assignment]
    assert pair.send(batch(b"v")) is CLOSE
    assert caplog.text.count("PRODUCE v9") == 2
    assert pair.short.handled == 1


def test_clients_cannot_have_much_remembered(pair: Pair) -> None:
    short = pair.short
    for number in range(MOST_KNOWN + 1):
        short.send(batch(b"v"), version=9, timeout_ms=number)
    assert short.handled == MOST_KNOWN + 1
    short.send(batch(b"v"), version=9, timeout_ms=MOST_KNOWN)
    assert short.handled == MOST_KNOWN + 1
    short.send(batch(b"v"), version=9, timeout_ms=0)  # which had to go
    assert short.handled == MOST_KNOWN + 2
    for _ in range(2):
        short.send(batch(b"v"), version=9, client_id="x" * LONGEST_HEAD)
    assert short.handled == MOST_KNOWN + 4


class Muted(Client):
    """A connection that notes for how long it is muted."""

    def __init__(self) -> None:
        super().__init__()
        self.muted: list[float] = []

    def mute(self, ms: float) -> None:
        self.muted.append(ms)


def test_a_client_with_a_quota_is_throttled_as_without_the_shortcut(pair: Pair) -> None:
    peers = [Muted(), Muted()]
    limits = {"producer_byte_rate": 15.0}
    pair.short.fixture.peer, pair.long.fixture.peer = peers
    pair.send(batch(b"v"))
    pair.each(lambda fixture: fixture.services.server.quotas.set((("user", None),), limits))
    times = [pair.send(batch(b"v")).throttle_time_ms for _ in range(3)]
    assert times[0] == 0
    assert times[0] < times[1] < times[2]
    assert [peer.muted for peer in peers] == [times[1:], times[1:]]
    pair.each(lambda fixture: fixture.services.server.quotas.set((("user", None),), {}))
    assert pair.send(batch(b"v")).throttle_time_ms == 0
    assert pair.short.handled == 1
