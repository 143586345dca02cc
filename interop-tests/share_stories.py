"""Share partitions beside those of a real Kafka 4.3.0, asked in raw requests: who gets which records, how
often, what may be said of them, and what the share coordinator keeps.

Members that take what they are given, and say what comes into their heads, are told the same by both. Nobody
waits for anything in these stories: where others keep the machine busy, a Kafka may not have read yet what it
would else give. So they are told by `make share-stories`, alone, and are not among the tests.
"""

from __future__ import annotations

import contextlib
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcompat.protocol.messages.initialize_share_group_state import InitializeShareGroupStateRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.protocol.messages.read_share_group_state_summary import ReadShareGroupStateSummaryRequest
from kcompat.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from kcompat.protocol.messages.share_fetch import ShareFetchRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from kcompat.share.key import SharePartitionKey
from real_kafka import RealKafka
from support.asking import Client
from support.eventually import eventually
from support.raw_client import RawClient
from support.share_apis import ShareApis
from support.share_coordinators import TOPIC
from support.share_partitions import GROUP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Self


VERSION = 2
SIZES = (3, 1, 5, 2, 4, 1, 1, 8, 6)
"""Records of the batches of the partition."""
STEPS = 25
PATIENCE_S = 60
MEMBERS = ("a", "b")
AT_ONCE = (0, 1, 3)
"""Acknowledge types in a fetch; a released record may, or may not, be fetched by the same request."""


class Said(NamedTuple):
    """The contents of an answer, without the parts that may differ."""

    error: int
    partition_error: int
    acknowledge_error: int
    acquired: tuple[tuple[int, int, int], ...]


@pytest.fixture(scope="module")
def kafka() -> Iterator[RealKafka]:
    settings = {"group.share.delivery.count.limit": "4", "group.share.record.lock.duration.ms": "60000"}
    with RealKafka("4.3.0", settings) as kafka:
        yield kafka


class Story:
    """A random sequence of requests of two members; the same seed tells the same story."""

    def __init__(self, seed: int, send: Callable[[str, Any], Any], group_id: str, topic_id: bytes) -> None:
        self._random = Random(seed)
        self._send = send
        self._group_id = group_id
        self._topic_id = topic_id
        self._epochs = dict.fromkeys(MEMBERS, 0)
        self._held: dict[str, list[tuple[int, int]]] = {member: [] for member in MEMBERS}

    def tell(self) -> list[Said]:
        """Return the answers of the story in order."""
        self._load()
        return [self._step(self._random.choice(MEMBERS)) for _ in range(STEPS)]

    def _load(self) -> None:
        """Have the share partition loaded: the first record is accepted by somebody else."""
        fetch, acknowledge = ShareFetchRequest, ShareAcknowledgeRequest
        topic = fetch.FetchTopic(self._topic_id, [fetch.FetchPartition(0)])
        self._send(
            "first",
            fetch(self._group_id, "first", 0, 10_000, 1, 1 << 20, 1, 1, share_acquire_mode=1, topics=[topic]),
        )
        row = acknowledge.AcknowledgePartition(0, [acknowledge.AcknowledgementBatch(0, 0, [1])])
        said = acknowledge.AcknowledgeTopic(self._topic_id, [row])
        self._send("first", acknowledge(self._group_id, "first", -1, topics=[said]))

    def _step(self, member: str) -> Said:
        if self._epochs[member] and self._random.random() < 0.4:
            return self._acknowledge(member)
        return self._fetch(member)

    def _batches(self, member: str, make: type[Any], kinds: tuple[int, ...]) -> list[Any]:
        """Return acknowledgements of a member: mostly of records that it has, sometimes of any."""
        draw = self._random
        held = self._held[member]
        if draw.random() < 0.2:
            first = draw.randrange(sum(SIZES) + 2)
            return [make(first, first + draw.randrange(4), [draw.choice(kinds)])]
        said = []
        for first, last in sorted(held):
            if draw.random() < 0.3:
                continue
            each = draw.random() < 0.5
            types = [draw.choice(kinds) for _ in range(last - first + 1)] if each else [draw.choice(kinds)]
            said.append(make(first, last, types))
        self._held[member] = []
        return said

    def _fetch(self, member: str) -> Said:
        draw, epoch = self._random, self._epochs[member]
        row = ShareFetchRequest.FetchPartition(0)
        if epoch and draw.random() < 0.6:
            row.acknowledgement_batches = self._batches(
                member, ShareFetchRequest.AcknowledgementBatch, AT_ONCE
            )
        request = ShareFetchRequest(
            group_id=self._group_id,
            member_id=member,
            share_session_epoch=epoch,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=draw.choice((1, 200, 1 << 20)),
            max_records=draw.choice((1, 2, 5, 100)),
            batch_size=draw.choice((1, 4, 100)),
            share_acquire_mode=draw.choice((0, 1)),
            topics=[ShareFetchRequest.FetchTopic(self._topic_id, [row])],
        )
        self._epochs[member] += 1
        response = self._send(member, request)
        rows = [row for topic in response.responses for row in topic.partitions]
        assert len(rows) <= 1
        if not rows:
            return Said(response.error_code, 0, 0, ())
        acquired = tuple(
            (each.first_offset, each.last_offset, each.delivery_count) for each in rows[0].acquired_records
        )
        self._held[member] += [each[:2] for each in acquired]
        return Said(response.error_code, rows[0].error_code, rows[0].acknowledge_error_code, acquired)

    def _acknowledge(self, member: str) -> Said:
        batches = self._batches(member, ShareAcknowledgeRequest.AcknowledgementBatch, (0, 1, 2, 2, 3))
        row = ShareAcknowledgeRequest.AcknowledgePartition(0, batches)
        request = ShareAcknowledgeRequest(
            group_id=self._group_id,
            member_id=member,
            share_session_epoch=self._epochs[member],
            topics=[ShareAcknowledgeRequest.AcknowledgeTopic(self._topic_id, [row])],
        )
        self._epochs[member] += 1
        response = self._send(member, request)
        errors = [row.error_code for topic in response.responses for row in topic.partitions]
        return Said(response.error_code, errors[0] if errors else 0, 0, ())


class Beside:
    """A topic of the real Kafka, and connections to it: a member is known by its own."""

    def __init__(self, kafka: RealKafka) -> None:
        self._address = ("127.0.0.1", kafka.port)
        self._connections: dict[str, RawClient] = {}
        self._open = contextlib.ExitStack()
        created = self.send(
            "", CreateTopicsRequest([CreateTopicsRequest.CreatableTopic("topic", 1, 1)], 10_000), 7
        )
        self.topic_id = created.topics[0].topic_id
        for size in SIZES:
            eventually(lambda size=size: self._produce(size), "the topic has a leader", PATIENCE_S)

    def _produce(self, size: int) -> bool:
        """Append a batch; False while the topic has no leader yet."""
        batch = build_batch([Record(at, 1000, None, b"value") for at in range(size)])
        data = ProduceRequest.PartitionProduceData(0, memoryview(batch))
        topic = ProduceRequest.TopicProduceData("topic", partition_data=[data])
        answer = self.send("", ProduceRequest(acks=1, timeout_ms=10_000, topic_data=[topic]), 9)
        return bool(answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def send(self, member: str, request: Any, version: int = VERSION) -> Any:
        """The answer of the real one."""
        if member not in self._connections:
            self._connections[member] = self._open.enter_context(RawClient(self._address))
        return self._connections[member].call(request, version)

    def initialize(self, group_id: str) -> None:
        """Begin a share partition at offset 0, once its coordinator is there."""
        key = SharePartitionKey(group_id, self.topic_id, 0)
        request = InitializeShareGroupStateRequest
        topic = request.InitializeStateData(self.topic_id, [request.PartitionData(0, 0, 0)])

        def is_begun() -> bool:
            self.send("", FindCoordinatorRequest(key_type=2, coordinator_keys=[key.coordinator_key]), 6)
            answer = self.send("", request(group_id, [topic]), 0)
            return bool(answer.results[0].partitions[0].error_code == ErrorCode.NONE)

        eventually(is_begun, "the share coordinator is there", PATIENCE_S)


@pytest.fixture(scope="module")
def beside(kafka: RealKafka) -> Iterator[Beside]:
    with Beside(kafka) as beside:
        yield beside


def ours(directory: Path) -> tuple[ShareApis, Callable[[str, Any], Any]]:
    """A share partition of ours, with the same records, and how its members ask."""
    apis = ShareApis(directory)
    apis.fixture.settings.of_all = apis.fixture.settings.of_all._replace(
        delivery_count_limit=4, record_lock_duration_ms=60_000
    )
    apis.fixture.initialize(0, start_offset=0, state_epoch=0)
    for size in SIZES:
        apis.fixture.produce(*[b"value"] * size)
    clients = {member: Client() for member in (*MEMBERS, "first")}

    def send(member: str, request: Any) -> Any:
        answer = apis.send(request, VERSION, clients[member])
        apis.fixture.clock.advance(0)
        return getattr(answer, "value", answer)

    return apis, send


@pytest.mark.parametrize("seed", range(30))
def test_members_are_told_the_same(beside: Beside, tmp_path: Path, seed: int) -> None:
    group_id = f"group-{seed}"
    beside.initialize(group_id)
    theirs = Story(seed, beside.send, group_id, beside.topic_id).tell()
    apis, send = ours(tmp_path)
    told = Story(seed, send, GROUP, TOPIC).tell()
    lost = next((at for at, said in enumerate(theirs) if said.error == ErrorCode.UNKNOWN_SERVER_ERROR), None)
    if lost is not None:  # nothing is in flight, and what is said lies on both sides of the start
        assert told[:lost] == theirs[:lost]
        assert ErrorCode.INVALID_RECORD_STATE in told[lost][:3]
        return
    assert told == theirs
    request = ReadShareGroupStateSummaryRequest
    asked = request(group_id, [request.ReadStateSummaryData(beside.topic_id, [request.PartitionData(0, -1)])])
    row = beside.send("", asked, 1).results[0].partitions[0]
    summary = apis.fixture.coordination.coordinator.summary(SharePartitionKey(GROUP, TOPIC, 0), -1).value
    assert (summary.start_offset, summary.delivery_complete_count) == (
        row.start_offset,
        row.delivery_complete_count,
    )
