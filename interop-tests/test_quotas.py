"""Client quotas beside a Kafka 3.9.2: measured rates, throttle times, refusals, and neighbours.

Each measurement is made with both brokers at once, by raw clients that do what they are told at full speed.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from statistics import median
from threading import Event
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from kcompat.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from real_kafka import RealKafka
from support.eventually import eventually
from support.raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.broker_process import BrokerProcess

T = TypeVar("T")
Both = tuple["BrokerProcess", "BrokerProcess"]

TOPIC = "limited"
WINDOWS = 3
"""Samples of one second in the window of both brokers; two whole seconds may be used at once."""
LONG_WINDOWS = 11
RATE = 200_000
"""Bytes per second of the quotas."""
PIECE = 20_000
"""Bytes of a record, which is most of a request."""

_names = count()


@pytest.fixture(scope="module", params=[WINDOWS, LONG_WINDOWS])
def brokers(request: pytest.FixtureRequest, new_broker: Callable[..., BrokerProcess]) -> Iterator[Both]:
    """Ours and Kafka, with a topic of some records."""
    windows = str(request.param)
    properties = {
        "quota.window.num": windows,
        "controller.quota.window.num": windows,
        "log.retention.ms": "-1",
    }
    with ExitStack() as running:
        ours, kafka = new_broker(properties=properties), RealKafka(properties=properties)
        for broker in (ours, kafka):
            running.enter_context(broker)
            with connect(broker, "admin") as admin:
                new_topic(admin, TOPIC, version=4)
                eventually(lambda: accepted(admin.call(produce(PIECE), 9)), "the topic is led")
                for _ in range(2 * RATE // PIECE):
                    assert accepted(admin.call(produce(PIECE), 9))
        yield ours, kafka


THOROUGH = pytest.mark.thorough("throttle times, of which rates come")
THOROUGH_VERSION = pytest.mark.thorough("tests/unit/api/test_mutations.py, and the version that refuses")
BRIEFLY = pytest.mark.parametrize("brokers", [WINDOWS], indirect=True)
AT_LENGTH = pytest.mark.parametrize("brokers", [pytest.param(LONG_WINDOWS, marks=THOROUGH)], indirect=True)


def connect(broker: BrokerProcess, client_id: str) -> RawClient:
    return RawClient(("127.0.0.1", broker.port), 60, client_id=client_id)


def beside(brokers: Both, measure: Callable[[BrokerProcess], T]) -> tuple[T, T]:
    """Measure both brokers at the same time."""
    with ThreadPoolExecutor(2) as threads:
        ours, kafka = threads.map(measure, brokers)
    return ours, kafka


def limited_client(broker: BrokerProcess, **quotas: float) -> RawClient:
    """Return a new client with quotas that are in force."""
    client_id = f"client-{next(_names)}"
    changes = [AlterClientQuotasRequest.OpData(key, value) for key, value in quotas.items()]
    entity = [AlterClientQuotasRequest.EntityData("client-id", client_id)]
    request = AlterClientQuotasRequest([AlterClientQuotasRequest.EntryData(entity, changes)])
    component = DescribeClientQuotasRequest.ComponentData("client-id", 0, client_id)
    with connect(broker, "admin") as admin:
        assert [row.error_code for row in admin.call(request, 1).entries] == [0]
        asked = DescribeClientQuotasRequest([component])
        eventually(lambda: admin.call(asked, 1).entries, "the quota is in force")
    return connect(broker, client_id)


def new_topic(client: RawClient, name: str, *, version: int, partitions: int = 1) -> tuple[int, int]:
    """Create a topic; return its error and the throttle time in ms."""
    topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    answer = client.call(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), version)
    return answer.topics[0].error_code, answer.throttle_time_ms


def produce(size: int, acks: int = 1) -> ProduceRequest:
    records = build_batch([Record(0, 0, None, bytes(min(size, PIECE))) for _ in range(-(-size // PIECE))])
    row = ProduceRequest.PartitionProduceData(index=0, records=records)
    topic = ProduceRequest.TopicProduceData(name=TOPIC, partition_data=[row])
    return ProduceRequest(acks=acks, timeout_ms=10_000, topic_data=[topic])


def accepted(answer: Any) -> bool:
    return [row.error_code for topic in answer.responses for row in topic.partition_responses] == [0]


def fetch(offset: int = 0, size: int = PIECE) -> FetchRequest:
    row = FetchRequest.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=size)
    topic = FetchRequest.FetchTopic(topic=TOPIC, partitions=[row])
    return FetchRequest(
        replica_id=-1, max_wait_ms=0, min_bytes=1, max_bytes=size, session_epoch=-1, topics=[topic]
    )


def produced(client: RawClient) -> int:
    """Produce; return the bytes that count."""
    request = produce(PIECE)
    assert accepted(client.call(request, 9))
    return len(b"".join(bytes(part) for part in request.encode(9)))


def fetched(client: RawClient) -> int:
    """Fetch; return the bytes that count: none of a response to a throttled client."""
    answer = client.call(fetch(), 12)
    sizes = [len(row.records) for topic in answer.responses for row in topic.partitions]
    return sum(sizes) + 70 if sizes else 0


def rate_of(client: RawClient, step: Callable[[RawClient], int], warm_up_s: float, seconds: float) -> float:
    """Return the bytes per second of a client that would like to have a fifth more than its quota, after a
    time in which it may use an empty window.

    A faster client would use its window in bursts, and a mean would depend on when it begins and ends.
    """
    begun = sent = monotonic()
    measured_from, size = begun, 0
    while sent < begun + warm_up_s + seconds:
        sleep(max(0, sent + PIECE / (1.2 * RATE) - monotonic()))
        sent = monotonic()
        if sent < begun + warm_up_s:
            measured_from, size = sent, 0
        size += step(client)
    return size / (monotonic() - measured_from)


@BRIEFLY
def test_a_throttle_time_is_that_of_kafka_and_is_kept(brokers: Both) -> None:
    size = (WINDOWS - 1) * RATE + RATE // 2  # half a second more than the window holds

    def measure(broker: BrokerProcess) -> tuple[int, float]:
        with limited_client(broker, producer_byte_rate=RATE) as client:
            throttle_ms = client.call(produce(size), 9).throttle_time_ms
            begun = monotonic()
            client.call(ApiVersionsRequest(), 0)
            return throttle_ms, (monotonic() - begun) * 1000

    attempts = [beside(brokers, measure) for _ in range(3)]
    for tried in zip(*attempts, strict=True):
        assert [throttle_ms for throttle_ms, _ in tried] == pytest.approx([500] * 3, rel=0.1)
        # A busy machine may be late, but not each time.
        assert min(waited_ms for _, waited_ms in tried) == pytest.approx(500, rel=0.1)


@AT_LENGTH
def test_rates_are_kept(brokers: Both) -> None:
    def measure(broker: BrokerProcess) -> tuple[float, float]:
        with (
            limited_client(broker, producer_byte_rate=RATE) as producer,
            limited_client(broker, consumer_byte_rate=RATE) as consumer,
            ThreadPoolExecutor(2) as threads,
        ):
            produces = threads.submit(rate_of, producer, produced, 2 * LONG_WINDOWS, 30)
            fetches = threads.submit(rate_of, consumer, fetched, 2 * LONG_WINDOWS, 30)
            return produces.result(), fetches.result()

    rates = beside(brokers, measure)
    print(f"bytes per second of a producer and a consumer with a quota of {RATE}: ours, Kafka:", *rates)
    for measured in rates:
        assert measured == pytest.approx((RATE, RATE), rel=0.05), rates


@BRIEFLY
def test_a_throttled_fetch_names_no_topic(brokers: Both) -> None:
    def measure(broker: BrokerProcess) -> tuple[list[Any], int, int, int]:
        with limited_client(broker, consumer_byte_rate=RATE) as client:
            client.call(fetch(size=(WINDOWS - 1) * RATE), 12)
            answer = client.call(fetch(size=(WINDOWS - 1) * RATE), 12)
            return answer.responses, answer.session_id, answer.error_code, answer.throttle_time_ms > 0

    ours, kafka = beside(brokers, measure)
    assert ours == kafka == ([], 0, 0, True)


@BRIEFLY
def test_request_time_is_throttled_for_a_second_at_most(brokers: Both) -> None:
    def measure(broker: BrokerProcess) -> list[int]:
        with limited_client(broker, request_percentage=0.001) as client:
            return [client.call(MetadataRequest(topics=None), 9).throttle_time_ms for _ in range(3)]

    for times in beside(brokers, measure):
        assert times[-1] == 1000
        assert max(times) <= 1000


@BRIEFLY
@pytest.mark.parametrize("version", [pytest.param(5, marks=THOROUGH_VERSION), 7])
def test_topic_changes_are_throttled_or_refused(brokers: Both, version: int) -> None:
    def measure(broker: BrokerProcess) -> list[tuple[int, bool]]:
        partitions = WINDOWS + 5  # five more than there are tokens, which are there again five seconds later
        with limited_client(broker, controller_mutation_rate=1) as client:
            answers = [
                new_topic(client, f"topic-{next(_names)}", version=version, partitions=partitions)
                for _ in range(2)
            ]
        return [(error, throttle_ms > 0) for error, throttle_ms in answers]

    ours, kafka = beside(brokers, measure)
    assert ours == kafka
    assert ours == ([(0, False), (89, True)] if version == 7 else [(0, True), (0, True)])


@BRIEFLY
def test_connections_above_the_rate_of_their_address_are_not_served(brokers: Both) -> None:
    """Both serve what the window holds; Kafka closes the others later."""
    address = "127.0.0.3"

    def measure(broker: BrokerProcess) -> int:
        change = [AlterClientQuotasRequest.OpData("connection_creation_rate", 5.0)]
        entity = [AlterClientQuotasRequest.EntityData("ip", address)]
        request = AlterClientQuotasRequest([AlterClientQuotasRequest.EntryData(entity, change)])
        asked = DescribeClientQuotasRequest([DescribeClientQuotasRequest.ComponentData("ip", 0, address)])
        with connect(broker, "admin") as admin:
            assert [row.error_code for row in admin.call(request, 1).entries] == [0]
            eventually(lambda: admin.call(asked, 1).entries, "the quota is in force")
        with ThreadPoolExecutor(30) as threads:
            return sum(threads.map(lambda _: is_served(broker, address), range(30)))

    ours, kafka = beside(brokers, measure)
    assert ours == pytest.approx(kafka, abs=3)
    assert ours == pytest.approx(5 * (WINDOWS - 1), abs=3)


def is_served(broker: BrokerProcess, address: str) -> bool:
    try:
        with RawClient(("127.0.0.1", broker.port), 60, source=address) as client:
            client.call(ApiVersionsRequest(), 0)
    except ConnectionError:
        return False
    return True


@AT_LENGTH
def test_a_throttled_client_delays_no_other(brokers: Both) -> None:
    """Clients that are throttled, and send more all the time, cost a neighbour nothing."""
    request = produce(1000)

    def latencies(broker: BrokerProcess) -> list[float]:
        taken = []
        with connect(broker, "neighbour") as client:
            for _ in range(1000):
                begun = monotonic()
                assert client.call(request, 9).throttle_time_ms == 0
                taken.append((monotonic() - begun) * 1000)
        return sorted(taken)

    def press(client: RawClient, over: Event) -> None:
        for _ in range(8):
            client.send(produce(PIECE), 9)
        while not over.is_set():
            client.receive(ProduceRequest, 9)
            client.send(produce(PIECE), 9)

    def measure(broker: BrokerProcess) -> tuple[list[float], list[float]]:
        alone, over = latencies(broker), Event()
        with ExitStack() as stack, ThreadPoolExecutor(4) as threads:
            clients = [
                stack.enter_context(limited_client(broker, producer_byte_rate=RATE / 2)) for _ in range(4)
            ]
            pressing = [threads.submit(press, client, over) for client in clients]
            beside_them = latencies(broker)
            over.set()
            for each in pressing:
                each.result()
        return alone, beside_them

    for broker in brokers:
        alone, beside_them = measure(broker)
        shown = [f"{median(each):.2f} / {each[989]:.2f}" for each in (alone, beside_them)]
        print(
            f"{broker.name}: median / p99 in ms of a neighbour, alone and beside throttled clients:", *shown
        )
        if broker is brokers[0]:
            assert median(beside_them) < 2 * median(alone) + 1
