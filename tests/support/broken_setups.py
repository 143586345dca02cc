"""Set-ups that keep a client from working, each with the finding by which `kcompat doctor` names it."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from kcompat import Broker, Cluster
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.eventually import eventually
from support.ports import free_port
from support.raw_client import RawClient
from support.raw_requests import (
    commit_offset,
    create_topic,
    delete_records,
    describe_topic,
    find_coordinator,
    produce,
)
from support.tls_authority import Authority

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def _at(address: str, **properties: str) -> dict[str, str]:
    return {"bootstrap.servers": address, **{key.replace("_", "."): text for key, text in properties.items()}}


def _java(broker: Broker, user: str | None = None) -> dict[str, str]:
    return {key: str(value) for key, value in broker.client_config(user, library="java").items()}


def _client(address: str) -> RawClient:
    host, _, port = address.rpartition(":")
    return RawClient((host, int(port)))


@contextmanager
def _answering(answer: bytes) -> Iterator[str]:
    """Yield the address of a server that answers anything with these bytes; b"" is silence."""
    with socket.create_server(("127.0.0.1", 0)) as server, ExitStack() as accepted:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                accepted.enter_context(connection)
                connection.recv(4096)
                if answer:
                    connection.sendall(answer)
                    connection.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


def unknown_name(_: Path, __: ExitStack) -> dict[str, str]:
    return _at("no-such-host.invalid:9092")


def nobody(_: Path, __: ExitStack) -> dict[str, str]:
    return _at(f"127.0.0.1:{free_port()}")


def http_port(_: Path, undo: ExitStack) -> dict[str, str]:
    return _at(undo.enter_context(_answering(b"HTTP/1.1 400 Bad Request\r\n\r\n")))


def zookeeper_port(_: Path, undo: ExitStack) -> dict[str, str]:
    answer = b"srvr is not executed because it is not in the whitelist.\n"
    return _at(undo.enter_context(_answering(answer)))


def other_protocol(_: Path, undo: ExitStack) -> dict[str, str]:
    return _at(undo.enter_context(_answering(b"SSH-2.0-OpenSSH_9.2\r\n")))


def damaged_answer(_: Path, undo: ExitStack) -> dict[str, str]:
    """A frame of the right length, with the id of the request and nonsense behind it."""
    return _at(undo.enter_context(_answering(b"\0\0\0\x20\0\0\0\x01" + b"\xff" * 28)))


def plain_on_tls(_: Path, undo: ExitStack) -> dict[str, str]:
    return _at(undo.enter_context(Broker(tls=True)).bootstrap_servers)


def tls_on_plain(_: Path, undo: ExitStack) -> dict[str, str]:
    return _at(undo.enter_context(Broker()).bootstrap_servers, security_protocol="SSL")


def untrusted(home: Path, undo: ExitStack) -> dict[str, str]:
    broker = undo.enter_context(Broker(tls=True))
    other = Authority("127.0.0.1").trust_in(home)
    return {**_java(broker), "ssl.truststore.location": str(other), "ssl.truststore.type": "PEM"}


def other_name(home: Path, undo: ExitStack) -> dict[str, str]:
    authority = Authority()
    authority.broker = authority.ca.issue_cert("elsewhere.example")
    config = authority.properties(home, listeners="SSL://127.0.0.1:0")
    broker = undo.enter_context(Broker(config={**config, "security.inter.broker.protocol": "SSL"}))
    trusted = {
        "ssl.truststore.location": str(authority.trust_in(home)),
        "ssl.truststore.type": "PEM",
    }
    return {**_at(broker.bootstrap_servers, security_protocol="SSL"), **trusted}


def without_login(_: Path, undo: ExitStack) -> dict[str, str]:
    return _at(undo.enter_context(Broker(users={"alice": "secret"})).bootstrap_servers)


def needless_login(_: Path, undo: ExitStack) -> dict[str, str]:
    with Broker(users={"alice": "secret"}) as other:
        properties = _java(other, "alice")
    return {**properties, "bootstrap.servers": undo.enter_context(Broker()).bootstrap_servers}


def wrong_password(_: Path, undo: ExitStack) -> dict[str, str]:
    properties = _java(undo.enter_context(Broker(users={"alice": "secret"})), "alice")
    return {key: text.replace("secret", "wrong") for key, text in properties.items()}


def wrong_mechanism(_: Path, undo: ExitStack) -> dict[str, str]:
    broker = undo.enter_context(Broker(users={"alice": "secret"}))
    return {**_java(broker, "alice"), "sasl.mechanism": "OAUTHBEARER"}


def advertised_unknown(_: Path, undo: ExitStack) -> dict[str, str]:
    config = {"advertised.listeners": "PLAINTEXT://no-such-broker.invalid:9092"}
    broker = undo.enter_context(Broker(config=config))
    return _at(f"127.0.0.1:{_bound_port(broker)}")


def advertised_closed(_: Path, undo: ExitStack) -> dict[str, str]:
    config = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{free_port()}"}
    return _at(f"127.0.0.1:{_bound_port(undo.enter_context(Broker(config=config)))}")


def _bound_port(broker: Broker) -> int:
    return broker._running_nodes()[0].hooks.server.listeners[0].port


def late_replica(_: Path, undo: ExitStack) -> dict[str, str]:
    cluster = undo.enter_context(Cluster(3, config={"replica.lag.time.max.ms": 2000}))
    cluster.create_topic("copied", replication_factor=3)
    with _client(cluster.bootstrap_servers.split(",")[0]) as client:
        eventually(lambda: len(describe_topic(client, "copied").partitions[0].isr_nodes) == 3)
    cluster.shrink_isr("copied", 0, to=2)
    return _at(cluster.bootstrap_servers.split(",")[0])


def failed_disk(home: Path, undo: ExitStack) -> dict[str, str]:
    directories = [str(home / "a"), str(home / "b")]
    broker = undo.enter_context(Broker(config={"log.dirs": directories}, topics={"orders": 4}))
    broker.disk.fail(directories[1])
    with _client(broker.bootstrap_servers) as client:
        for partition in range(4):
            produce(client, "orders", build_batch([Record(0, 0, None, b"v")]), partition)

        def leaderless() -> int:
            return sum(each.leader_id < 0 for each in describe_topic(client, "orders").partitions)

        eventually(lambda: leaderless() == 2, "half of the partitions have lost their leader")
    return _at(broker.bootstrap_servers)


def lagging_group(_: Path, undo: ExitStack) -> dict[str, str]:
    address = undo.enter_context(Broker()).bootstrap_servers
    with _client(address) as client:
        _fill(client, 20)
        commit_offset(client, "readers", "orders", 1)
    return _at(address)


def group_without_records(_: Path, undo: ExitStack) -> dict[str, str]:
    address = undo.enter_context(Broker()).bootstrap_servers
    with _client(address) as client:
        _fill(client, 5)
        commit_offset(client, "readers", "orders", 1)
        delete_records(client, "orders", 3)
    return _at(address)


def _fill(client: RawClient, records: int) -> None:
    create_topic(client, "orders")
    now = int(time.time() * 1000)
    produce(client, "orders", build_batch([Record(0, now, None, b"value")] * records))
    while find_coordinator(client, "readers"):
        pass


def record_of_the_future(_: Path, undo: ExitStack) -> dict[str, str]:
    address = undo.enter_context(Broker()).bootstrap_servers
    with _client(address) as client:
        create_topic(client, "orders")
        tomorrow = int(time.time() * 1000) + 20 * 60 * 1000
        produce(client, "orders", build_batch([Record(0, tomorrow, None, b"early")]))
    return _at(address)


def requests_too_large(_: Path, undo: ExitStack) -> dict[str, str]:
    broker = undo.enter_context(Broker(config={"message.max.bytes": 1000}))
    return {**_at(broker.bootstrap_servers), "max.request.size": "1048576"}


def words_for_a_number(_: Path, undo: ExitStack) -> dict[str, str]:
    return {**_at(undo.enter_context(Broker()).bootstrap_servers), "session.timeout.ms": "10s"}


def sessions_too_short(_: Path, undo: ExitStack) -> dict[str, str]:
    return {**_at(undo.enter_context(Broker()).bootstrap_servers), "session.timeout.ms": "100"}


SETUPS: Final[dict[Callable[[Path, ExitStack], dict[str, str]], list[str]]] = {
    unknown_name: ["name-does-not-resolve"],
    nobody: ["nothing-listens"],
    http_port: ["http-port"],
    zookeeper_port: ["zookeeper-port"],
    other_protocol: ["other-protocol"],
    damaged_answer: ["other-protocol"],
    plain_on_tls: ["plain-on-tls-port"],
    tls_on_plain: ["tls-on-plain-port"],
    untrusted: ["certificate-not-trusted"],
    other_name: ["certificate-for-other-name"],
    without_login: ["login-needed"],
    needless_login: ["login-not-expected"],
    wrong_password: ["login-refused"],
    wrong_mechanism: ["mechanism-not-offered"],
    advertised_unknown: ["advertised-name-does-not-resolve"],
    advertised_closed: ["advertised-address-does-not-answer"],
    late_replica: ["under-replicated"],
    failed_disk: ["log-directory-failed", "partition-without-leader"],
    lagging_group: ["group-lags"],
    group_without_records: ["group-lost-records"],
    record_of_the_future: ["records-of-the-future"],
    requests_too_large: ["setting-beyond-limit"],
    words_for_a_number: ["setting-not-a-number"],
    sessions_too_short: ["setting-beyond-limit"],
}
"""Each set-up, a function of a directory and of a stack that ends it, and the names of its findings."""
