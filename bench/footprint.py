"""The cost of a broker when nothing happens: starting, memory, idle connections, idle processor time."""

from __future__ import annotations

import contextlib
import socket
import struct
import subprocess
import time
from typing import TYPE_CHECKING

import peers
from system import cpu_seconds, resident_mb
from trial import Measure

from support.broker_process import answers_api_versions
from support.places import REPOSITORY
from support.ports import free_port

if TYPE_CHECKING:
    from trial import Numbers, Trial

POLL_S = 0.002
SETTLE_S = 3.0
IDLE_S = 5.0
CONNECTIONS = 5_000
_API_VERSIONS_V0 = struct.pack(">ihhih", 10, 18, 0, 1, -1)


def start(trial: Trial) -> Numbers:
    """A broker of its own with empty directories: from exec to its first answer, its memory at rest, and what
    5,000 idle connections add to that.
    """
    fresh = type(trial.broker)(properties=peers.PROPERTIES, port=free_port())
    try:
        fresh.prepare()
        begin = time.perf_counter()
        process = subprocess.Popen(
            fresh.command(), cwd=REPOSITORY, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            while not answers_api_versions(fresh.port):
                if process.poll() is not None:
                    raise RuntimeError(f"{fresh.name} did not start")
                time.sleep(POLL_S)
            elapsed = time.perf_counter() - begin
            time.sleep(SETTLE_S)
            at_rest = resident_mb(process.pid)
            idle_connections = _idle_connections_mb(fresh.port, process.pid)
        finally:
            process.terminate()
            process.wait(30)
    finally:
        fresh.close()
    return {"start": elapsed * 1e3, "memory-at-rest": at_rest, "idle-connections": idle_connections}


def idle(trial: Trial) -> Numbers:
    """Processor time while nobody asks for anything, in per cent of a core."""
    time.sleep(1)
    before, begin = cpu_seconds(trial.broker.pid), time.perf_counter()
    time.sleep(IDLE_S)
    used = cpu_seconds(trial.broker.pid) - before
    return {"idle-cpu": used / (time.perf_counter() - begin) * 100}


def _idle_connections_mb(port: int, pid: int) -> float:
    """Resident memory that connections add which asked for the API versions once and are silent now."""
    before = resident_mb(pid)
    with contextlib.ExitStack() as stack:
        for _ in range(CONNECTIONS):
            # One after the other: Kafka's backlog of 50 connections would overflow.
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            connection.sendall(_API_VERSIONS_V0)
            if not connection.recv(4096):
                raise RuntimeError("the broker closed an idle connection")
        time.sleep(0.5)
        return resident_mb(pid) - before


def memory_now(trial: Trial) -> Numbers:
    """Resident memory of the broker that took all the load so far."""
    return {"memory-after-load": resident_mb(trial.broker.pid)}


FIRST = (Measure("start", start),)
LAST = (Measure("idle", idle), Measure("memory-after-load", memory_now))
