"""How much a broker takes and gives through TLS, and how long a client takes to connect and log in.

Each trial has a broker of its own, beside the one of the other measures: with TLS listeners that one would
not be the broker that the rows about memory and starts are about. The key is RSA of 2048 bits, the commonest
kind. A run that does not count comes first, as a Java virtual machine is slow until it has compiled its code.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import time
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

import frames
import peers
import throughput
from system import Stopwatch
from trial import Measure
from trustme import CA, KeyType

from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeRequest
from support.raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trial import Numbers, Trial

    from support.broker_process import BrokerProcess

LISTENERS = {"SSL": "SSL", "SASL_SSL": "SASL_SSL"}
LOGIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
USER, PASSWORD = "bench", "bench-secret"
RUNS = 3
"""Runs of each load, of which the best counts; see `throughput.RUNS`."""
RECEIVED_AT_ONCE = 1 << 20


def encrypted(trial: Trial) -> Numbers:
    """Records of 1 KiB there, answers of 10 MB back, and connections with a login."""
    authority = CA()
    with _started(trial, authority) as broker:
        inner = replace(trial, broker=broker)
        return _produce(inner, authority) | _fetch(inner, authority) | _connect(inner, authority)


@contextlib.contextmanager
def _started(trial: Trial, authority: CA) -> Iterator[BrokerProcess]:
    """Start a broker of the trial's kind with listeners for TLS."""
    store = trial.directory / f"{trial.label}.pem"
    leaf = authority.issue_cert("127.0.0.1", key_type=KeyType.RSA)
    store.write_bytes(_as_pkcs8(leaf.private_key_pem.bytes()) + leaf.cert_chain_pems[0].bytes())
    properties = peers.PROPERTIES | {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(store),
        "listener.name.sasl_ssl.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": (
            f'{LOGIN_MODULE} required user_{USER}="{PASSWORD}";'
        ),
    }
    with peers.like(trial.broker, properties, LISTENERS) as broker:
        yield broker


def _as_pkcs8(key: bytes) -> bytes:
    """Return a key in the one form that Kafka reads."""
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        load_pem_private_key,
    )

    loaded = load_pem_private_key(key, None)
    return loaded.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _context(authority: CA) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=authority.cert_pem.bytes().decode())


def _produce(trial: Trial, authority: CA) -> Numbers:
    """Records of 1 KiB over four partitions through librdkafka."""
    chunk = throughput.PRODUCE_CHUNK * throughput.PARTITIONS
    count = max(chunk, trial.count(200_000) // chunk * chunk)
    settings = {
        "bootstrap.servers": trial.broker.bootstrap_of("SSL"),
        "security.protocol": "ssl",
        "ssl.ca.pem": authority.cert_pem.bytes().decode(),
    }
    runs = []
    for number in range(RUNS + 1):
        with trial.topic(throughput.PARTITIONS) as topic:
            watch = throughput.librdkafka_produce(trial, topic, count, throughput.MEDIUM, settings=settings)
            trial.expect_records(topic, throughput.PARTITIONS, count)
        if number:
            runs.append((watch.wall, watch.cpu))
    megabytes = count * throughput.MEDIUM / 1e6
    seconds, cpu = min(runs)
    return {"tls-produce-1kib": megabytes / seconds, "tls-produce-1kib-cpu": cpu / megabytes * 1e3}


def _fetch(trial: Trial, authority: CA) -> Numbers:
    """Answers of about 10 MB to one connection that asks again and again."""
    count = trial.count(60)
    with trial.topic(1) as topic:
        frame = frames.produce(topic, 0, records=throughput.RECORDS_PER_BIG_BATCH, size=throughput.MEDIUM)
        trial.generator.run(trial.broker.port, [frame], connections=1, depth=1, count=12)
        request = frames.fetch(topic, 0, throughput.FETCH_BYTES)
        runs = []
        with _connected(trial, authority) as connection:
            for _ in range(RUNS + 1):
                with Stopwatch(trial.broker.pid) as watch:
                    received = sum(_answer(connection, request) for _ in range(count))
                runs.append((watch.wall, watch.cpu))
    if received < count * throughput.FETCH_BYTES * 0.8:
        raise RuntimeError(f"{trial.broker.name} answered {count} fetches with {received} bytes")
    megabytes = received / 1e6
    seconds, cpu = min(runs[1:])
    return {"tls-fetch": megabytes / seconds, "tls-fetch-cpu": cpu / megabytes * 1e3}


def _connected(trial: Trial, authority: CA) -> ssl.SSLSocket:
    address = ("127.0.0.1", trial.broker.listeners["SSL"][1])
    return _context(authority).wrap_socket(socket.create_connection(address), server_hostname=address[0])


_buffer = memoryview(bytearray(RECEIVED_AT_ONCE))


def _answer(connection: ssl.SSLSocket, request: bytes) -> int:
    """Send a request and return the size of its answer."""
    connection.sendall(request)
    head = b""
    while len(head) < 4:
        head += connection.recv(4 - len(head))
    size: int = struct.unpack(">i", head)[0]
    left = size
    while left:
        count = connection.recv_into(_buffer, min(left, RECEIVED_AT_ONCE))
        if not count:
            raise ConnectionError("the broker closed the connection")
        left -= count
    return size


def _connect(trial: Trial, authority: CA) -> Numbers:
    """Connections with a login by PLAIN, one after another, each with a whole handshake."""
    count = trial.count(200)
    context = _context(authority)
    address = ("127.0.0.1", trial.broker.listeners["SASL_SSL"][1])
    token = f"\0{USER}\0{PASSWORD}".encode()
    taken = []
    for _ in range(2 * count):
        began = time.perf_counter()
        with RawClient(address, tls=context) as client:
            client.call(SaslHandshakeRequest(mechanism="PLAIN"), 1)
            answer = client.call(SaslAuthenticateRequest(auth_bytes=token), 2)
            taken.append(time.perf_counter() - began)
        if answer.error_code:
            raise RuntimeError(f"{trial.broker.name} refused the login: {answer.error_code}")
    return {"tls-login": median(taken[count:]) * 1e3}


MEASURES = (Measure("encrypted", encrypted),)
