"""The cost of refused logins for a neighbour: its p99 beside 500 of them a second, over the calm one.

The neighbour produces one record at a time on a plain listener. The others connect, send a whole login with a
wrong password, and leave once the broker has closed or half a second has gone.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import deque
from dataclasses import replace
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Final

import frames
import peers
from trial import Measure

from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kcompat.security.login_lines import login_line
from support.raw_client import request_frame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trial import Numbers, Trial

A_SECOND: Final = 500
STAY_S: Final = 0.5
PAIRS: Final = 4
LISTENERS: Final = {"SASL": "SASL_PLAINTEXT"}
MECHANISMS: Final = {"PLAIN": b"\0alice\0wrong", "SCRAM-SHA-256": b"n,,n=nobody,r=0123456789abcdef"}
"""The message of a refused client: a wrong password; and by SCRAM a first one, after which it gives up."""


def refused_logins(trial: Trial) -> Numbers:
    """Measure the neighbour alone and beside the refused logins in turn, with each mechanism."""
    properties = {"listener.name.sasl.sasl.enabled.mechanisms": ",".join(MECHANISMS)}
    for mechanism in MECHANISMS:
        options = {"user_alice": "secret"} if mechanism == "PLAIN" else {}
        key = f"listener.name.sasl.{mechanism.lower()}.sasl.jaas.config"
        properties[key] = login_line(mechanism, options)
    numbers: Numbers = {}
    with peers.like(trial.broker, peers.PROPERTIES | properties, LISTENERS) as broker:
        inner = replace(trial, broker=broker)
        with inner.topic() as topic:
            request = frames.produce(topic, 0, records=1, size=100)
            p99 = partial(_p99_us, inner, request)
            p99()  # does not count
            for mechanism in MECHANISMS:
                ratios = []
                for _ in range(PAIRS):
                    calm = p99()
                    with _refused(broker.listeners["SASL"][1], mechanism):
                        ratios.append(p99() / calm)
                numbers[f"refused-{mechanism.partition('-')[0].lower()}"] = median(ratios)
    return numbers


def _p99_us(trial: Trial, request: bytes) -> float:
    count = trial.count(5_000)
    return trial.generator.run(trial.broker.port, [request], connections=1, depth=1, count=count).p99_us


@contextlib.contextmanager
def _refused(port: int, mechanism: str) -> Iterator[None]:
    """Have clients refused for as long as the block runs."""
    login = request_frame(SaslHandshakeRequest(mechanism=mechanism), 1)
    login += request_frame(SaslAuthenticateRequest(auth_bytes=MECHANISMS[mechanism]), 2)
    over, count = threading.Event(), [0]

    def attack() -> None:
        begun, waiting = time.perf_counter(), deque[tuple[float, socket.socket]]()
        while not over.is_set():
            now = time.perf_counter()
            while waiting and waiting[0][0] < now - STAY_S:
                waiting.popleft()[1].close()
            client = socket.create_connection(("127.0.0.1", port))
            client.sendall(login)
            waiting.append((now, client))
            count[0] += 1
            over.wait(max(0, begun + count[0] / A_SECOND - time.perf_counter()))
        for _, client in waiting:
            client.close()

    thread = threading.Thread(target=attack)
    begun = time.perf_counter()
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    made = count[0] / (time.perf_counter() - begun)
    if made < 0.8 * A_SECOND:
        raise RuntimeError(f"only {made:.0f} clients a second were made, not {A_SECOND}")


MEASURES = (Measure("refused-logins", refused_logins),)
