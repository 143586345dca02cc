"""Calls of `Broker` and `Cluster` that make no sense: each raises a public error with one sentence, and its
traceback ends at the call.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import kcompat
from kcompat import Broker, Cluster, allow, deny
from kcompat import errors as public

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PACKAGE = str(Path(kcompat.__file__).parent)
KRAFT = {"process.roles": "broker", "controller.quorum.voters": "1@a.example:9093"}
ABSENT = {"zookeeper.connect": "127.0.0.1:1", "zookeeper.connection.timeout.ms": 1}


def insist_on_one_sentence(act: Callable[[], Any], sentence: str) -> None:
    with pytest.raises((public.KcompatError, TimeoutError)) as raised:
        act()
    error = raised.value
    assert sentence in str(error)
    assert "\n" not in str(error)
    internal = [
        frame.name
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith(PACKAGE)
    ]
    assert internal in (["kcompat"], ["kcompat_async"])
    assert (error.__cause__, error.__suppress_context__) == (None, True)


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda: Broker(config={"num.partition": 3}), "did you mean num.partitions?"),
        (lambda: Broker(config={"cleanup.policy": "compact"}), "did you mean log.cleanup.policy?"),
        (lambda: Broker(config={"num.partitions": "three"}), "Not a number of type INT"),
        (lambda: Broker(config={"num.partitions": None}), "use text, a number, True, False, or a list"),
        (lambda: Broker(config="num.partitions=3"), "use Kafka's keys, as in {'num.partitions': 4}"),
        (lambda: Broker(config=KRAFT), "belong to a KRaft cluster of several nodes"),
        (lambda: Broker(topics="orders"), "use partitions by name, as in {'orders': 3}"),
        (lambda: Broker(topics={"orders": 0}), "use a number, 1 or more"),
        (lambda: Broker(topics={"orders": {"replication.factor": 3}}), "kcompat.Cluster(3)"),
        (lambda: Broker(port="9092"), "use a number from 1 to 65535, or 0 for a free port"),
        (lambda: Broker(control_port="x"), "control_port='x' is not a port"),
        (lambda: Broker(host="a b"), "use 127.0.0.1, for instance"),
        (lambda: Broker(data_dir=b"x"), "use text or a path"),
        (lambda: Broker(data_dir="x", config={"log.dirs": "y"}), "both say where to store: give one"),
        (lambda: Broker(tls="yes"), "for other certificates set Kafka's keys"),
        (lambda: Broker(users=["alice"]), "use passwords by user, as in {'alice': 'secret'}"),
        (lambda: Broker(acls=["alice"]), "use a list of what kcompat.allow and deny return"),
        (lambda: Broker(clock="fake"), "use 'real', or 'manual' to move the time ahead"),
        (lambda: Broker(record_requests="yes"), "record_requests='yes' is neither True nor False"),
        (lambda: allow("alice", "read"), "name one of topic, group, transactional_id, cluster"),
        (lambda: allow("alice", "reed", topic="t"), "'reed' is no operation on a topic: use one of all"),
        (lambda: deny("", "read", topic="t"), "use 'alice', or '*' for all of them"),
        (lambda: Broker().start(timeout_s="5"), "timeout_s='5' is not a time: use a number of seconds"),
        (lambda: Broker().start(timeout_s=-1), "timeout_s=-1 is not a time: use a number of seconds"),
        (lambda: Broker().start(timeout_s=0), "the broker did not start within 0 s"),
        (lambda: Broker(host="192.0.2.1").start(), "another name or address of this machine"),
        (lambda: Broker(data_dir=__file__).start(), "is a file, not a directory"),
        (lambda: Broker(config=ABSENT).start(), "no ZooKeeper at 127.0.0.1:1"),
        (lambda: Broker().bootstrap_servers, "use it in a with statement, or call start() first"),
        (lambda: Broker().listeners, "use it in a with statement, or call start() first"),
        (lambda: Broker().compact("t"), "use it in a with statement, or call start() first"),
        (lambda: Broker().client_config(), "use it in a with statement, or call start() first"),
        (lambda: Broker().reset(), "use it in a with statement, or call start() first"),
        (lambda: Broker().start(timeout_s=0.0001), "the broker did not start within 0.0001 s"),
        (lambda: Broker().faults, "use it in a with statement, or call start() first"),
        (lambda: Broker().disk, "use it in a with statement, or call start() first"),
        (lambda: Cluster(2).faults, "use it in a with statement, or call start() first"),
        (lambda: Cluster(2).brokers[0].disk, "use it in a with statement, or call start() first"),
        (lambda: Cluster(2).reset(), "the brokers of a cluster cannot go back: use kcompat.Broker"),
        (lambda: Cluster(2).snapshot(), "the brokers of a cluster cannot go back: use kcompat.Broker"),
        (lambda: Cluster(2).restore(None), "the brokers of a cluster cannot go back: use kcompat.Broker"),
        (lambda: Cluster(0), "brokers=0 is not a number of brokers: use 1 or more"),
        (lambda: Cluster(3, racks=[1, 2]), "name at least one, as in ['a', 'b']"),
        (lambda: Cluster(3, port=65534), "use a lower one, or 0"),
        (lambda: Cluster(2).brokers[0].start(), "use it in a with statement, or call start() first"),
        (lambda: Cluster(2).isolate(0), "use it in a with statement, or call start() first"),
    ],
)  # fmt: skip
def test_a_broker_that_is_not_started(act: Callable[[], Any], sentence: str) -> None:
    insist_on_one_sentence(act, sentence)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(config={"auto.create.topics.enable": False}, record_requests=True) as started:
        yield started


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda broker: broker.start(), "the broker is started already: stop it before you start it again"),
        (lambda broker: Broker(port=broker.port).start(), "choose another, or stop what listens there"),
        (lambda broker: Broker(data_dir=broker.data_dir).start(), "or give this one a directory of its own"),
        (lambda broker: broker.compact("t"), "there is no topic 't': create it before you compact it"),
        (lambda broker: broker.compact("t", timeout_s="1"), "timeout_s='1' is not a time"),
        (
            lambda broker: broker.client_config(library="kafkajs"),
            "use one of confluent, kafka-python, aiokafka",
        ),
        (lambda broker: broker.client_config(library=["java"]), "use one of confluent, kafka-python"),
        (lambda broker: broker.compact("t", timeout_s=float("inf")), "timeout_s=inf is not a time"),
        (lambda broker: broker.compact("t", timeout_s=1e300), "use a number of seconds, such as 30"),
        (lambda broker: broker.faults.fail(["Produce"], "NOT_COORDINATOR"), "did you mean 'Produce'?"),
        (
            lambda broker: broker.faults.fail("Produce", ["NOT_COORDINATOR"]),
            "did you mean 'NOT_COORDINATOR'?",
        ),
        (lambda broker: broker.client_config("alice"), "give the broker users or tls=True"),
        (lambda broker: broker.ca_file, "make it with tls=True"),
        (
            lambda broker: broker.requests(since="now"),
            "since='now' is not possible: use a time of",
        ),
        (lambda broker: broker.requests(topic=5), "topic=5 is not possible: use a string"),
        (lambda broker: broker.requests(client_id=5), "client_id=5 is not possible: use a string"),
        (lambda broker: broker.connection_events(since="now"), "since='now' is not possible"),
        (lambda broker: broker.disk.fill(50), "directory=50 is not the name of a directory"),
        (lambda broker: broker.advance(5), "5 is not a time: use advance(days=8)"),
        (lambda broker: broker.faults.drop(served="x"), "served='x' is neither True nor False"),
        (lambda broker: broker.faults.disconnect(served=1), "served=1 is neither True nor False"),
        (
            lambda broker: broker.faults.fail("Produce", "REQUEST_TIMED_OUT", served=None),
            "served=None is neither True nor False",
        ),
        (lambda broker: broker.add_all("t", None), "records=None are no records: use a list"),
        (lambda broker: broker.add_all("t", "abc"), "records='abc' are no records: use a list"),
        (lambda broker: broker.add_all("t", {"k": "v"}), "are no records: use a list"),
        (lambda broker: broker.add("t", {"tags": {"a"}}), "cannot be written as JSON"),
        (lambda broker: broker.expects("t"), "the number of records is missing"),
        (lambda broker: broker.expects("t", 1, at_least=1), "count=1 and at_least=1 contradict each other"),
        (lambda broker: broker.expects("t", 1, where="x"), "where='x' is no function"),
        (lambda broker: broker.expects(5, 1), "topic=5 is not the name of a topic: use text"),
        (lambda broker: broker.create_topic("a b"), "'a b' cannot be the name of a topic"),
        (lambda broker: broker.delete_topic("t"), "there is no topic 't'"),
        (lambda broker: broker.advance(days=1), "make it with clock='manual'"),
        (lambda broker: broker.restore(None), "use what snapshot() has returned"),
        (lambda broker: broker.faults.fail("Prodduce", "NONE"), "did you mean 'Produce'?"),
        (lambda broker: broker.faults.fail("Produce", "NONE"), "'NONE' is not an error: use the name of one"),
        (lambda broker: broker.faults.fail("Produce", "NON"), "use Kafka's name, such as"),
        (
            lambda broker: broker.faults.fail("Produce", "NOT_LEADER_FOR_PARTITION"),
            "is an older name of an error: use 'NOT_LEADER_OR_FOLLOWER'",
        ),
        (lambda broker: broker.add("t", b""), "create the topic first"),
        (lambda broker: broker.records("t"), "there is no topic 't'"),
    ],
)
def test_a_broker_that_runs(broker: Broker, act: Callable[[Broker], Any], sentence: str) -> None:
    insist_on_one_sentence(lambda: act(broker), sentence)


def test_requests_that_are_not_recorded() -> None:
    with Broker() as broker:
        insist_on_one_sentence(broker.requests, "start the broker with record_requests=True")


def test_a_broker_that_has_stopped_is_shown_as_such() -> None:
    with Broker() as broker:
        faults = broker.faults
    assert repr(faults) == "<faults of a broker that is not running>"


def test_a_cluster_none_of_whose_brokers_runs() -> None:
    with Cluster(1) as cluster:
        cluster.brokers[0].kill()
        for act in (cluster.client_config, lambda: cluster.wait_until_in_sync(1)):
            insist_on_one_sentence(act, "no broker of the cluster is running: start one first")


async def test_a_second_start_on_an_event_loop(broker: Broker) -> None:
    with pytest.raises(public.UsageError, match="the broker is started already") as raised:
        async with broker:
            pass
    names = [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert names[1:] == ["kcompat_async"]


def stop(broker: Broker) -> None:
    broker.stop()


def start_again(broker: Broker) -> None:
    broker.stop()
    broker.start()


@pytest.mark.parametrize("end", [stop, start_again])
def test_a_stop_within_a_block_that_expects_records(end: Callable[[Broker], None]) -> None:
    with Broker() as broker:
        expecting = broker.expects("orders", 1)
        expecting.__enter__()
        end(broker)
        insist_on_one_sentence(
            lambda: expecting.__exit__(None, None, None), "the broker was stopped meanwhile: end its calls"
        )
