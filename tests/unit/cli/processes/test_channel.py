"""Messages between the command and the processes of its brokers."""

from __future__ import annotations

import socket

import pytest

from kcompat.cli.processes.channel import (
    OF_ORDERS,
    OF_REPORTS,
    Channel,
    Job,
    OwnStore,
    SeesAll,
    Started,
    StartRefused,
    Stop,
    StopAll,
)
from kcompat.node.listeners import ServedListener
from kcompat.security.added_users import AddedUser

USER = AddedUser("alice", "SCRAM-SHA-256", "salt=c2FsdA==")
JOB = Job(0, 3, {"num.partitions": "4", "x": "\u00e9\n"}, None, OwnStore("/d", "127.0.0.1", 0, (USER,)))


async def test_messages_arrive_as_they_are_in_order_until_the_end() -> None:
    ours, theirs = socket.socketpair()
    command, broker = await Channel.open(ours, OF_REPORTS), await Channel.open(theirs, OF_ORDERS)
    orders: list[Job | Stop] = [JOB, Job(1, 3, {}, "INFO"), Stop()]
    for order in orders:
        command.send(order)
    assert [await broker.receive() for _ in orders] == orders
    listeners = (ServedListener("IN", "localhost", 1, None), ServedListener("OUT", "::", 2, ("h", 3)))
    reports: list[Started | SeesAll | StartRefused | StopAll] = [
        Started("localhost:1", 2, listeners),
        SeesAll(),
        StartRefused("No."),
        StopAll(),
    ]
    for report in reports:
        broker.send(report)
    broker.close()
    assert [await command.receive() for _ in reports] == reports
    assert await command.receive() is None
    command.close()


async def test_a_long_configuration_goes_through() -> None:
    ours, theirs = socket.socketpair()
    command, broker = await Channel.open(ours, OF_REPORTS), await Channel.open(theirs, OF_ORDERS)
    job = Job(0, 1, {"k": "v" * (1 << 20)}, None)
    command.send(job)
    assert await broker.receive() == job
    for end in (command, broker):
        end.close()


@pytest.mark.parametrize("said", [b"", b'{"type":"St'])
async def test_who_ends_in_the_middle_of_a_word_has_ended(said: bytes) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.sendall(said)
    channel = await Channel.open(ours, OF_REPORTS)
    assert await channel.receive() is None
    channel.close()
    channel.send(Stop())  # nobody listens, and nothing happens
