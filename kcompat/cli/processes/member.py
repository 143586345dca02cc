"""One broker of a cluster of processes. The broker ends on the command's order, or when the command has
ended.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.cli.logs import set_up_logging, with_request_logs
from kcompat.cli.metrics import metrics_ports, with_metrics
from kcompat.cli.own_process import collect_less_often, keep_freed_memory
from kcompat.cli.processes.channel import OF_ORDERS, Channel, Job, SeesAll, Started, StartRefused, StopAll
from kcompat.config.broker import BrokerConfig
from kcompat.config.errors import ConfigError
from kcompat.descriptors import raise_limit
from kcompat.instrumentation.recording.instruments import instruments
from kcompat.log.errors import LogDirectoryError
from kcompat.net.listener import ListenerError
from kcompat.net.spinning import spinning_loop
from kcompat.node.broker import BrokerNode
from kcompat.node.cluster import BorrowedStore
from kcompat.node.environment import real_environment
from kcompat.node.first_topics import make_first_topics
from kcompat.node.first_users import with_first_users
from kcompat.node.zookeeper_port import ZooKeeperPort
from kcompat.store.interface import StoreError

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from kcompat.cli.processes.channel import Order
    from kcompat.node.environment import Environment

PATIENCE_S = 10.0
"""Longest time in seconds of a clean stop after the command has ended, since no process is left to kill this
one.
"""


def run(end: socket.socket) -> int:
    """Run the broker of the job that the channel delivers; return the exit code."""
    with asyncio.Runner(loop_factory=spinning_loop) as runner:
        return runner.run(_live(end))


async def _live(end: socket.socket) -> int:
    channel = await Channel.open(end, OF_ORDERS)
    job = await channel.receive()
    if not isinstance(job, Job):
        return 1
    try:
        set_up_logging(os.environ, job.log_level, f"broker {job.broker_id}")
        raise_limit()
        keep_freed_memory()
        async with AsyncExitStack() as undo:
            await _be(job, channel, undo)
    except (ConfigError, ListenerError, LogDirectoryError, StoreError) as error:
        channel.send(StartRefused(str(error)))
        return 1
    finally:
        channel.close()
    return 0


async def _be(job: Job, channel: Channel[Order], undo: AsyncExitStack) -> None:
    """Start the broker, wait until it has to stop, and stop it; `undo` closes its store afterwards."""
    environment = replace(real_environment(), instrument=instruments(os.environ))
    environment = with_request_logs(environment, os.environ)
    environment, port = with_metrics(environment, metrics_ports(os.environ, job.brokers)), None
    if job.store is not None:
        environment, port = await _with_store(job, environment, undo)
    node = BrokerNode(BrokerConfig(job.config), environment)
    ending = asyncio.create_task(_end(channel, has_store=job.store is not None))
    starting = asyncio.create_task(_start(node, port, job, channel))
    others_go_on = False
    try:
        await asyncio.wait({starting, ending}, return_when=asyncio.FIRST_COMPLETED)
        if not ending.done():
            await starting
            collect_less_often()
        others_go_on = await ending
    finally:
        starting.cancel()
        ending.cancel()
        await asyncio.wait({starting, ending})
        await node.stop(hand_over=others_go_on)


async def _with_store(
    job: Job, environment: Environment, undo: AsyncExitStack
) -> tuple[Environment, ZooKeeperPort]:
    """Return the environment with a metadata store that the broker cannot close, and its port."""
    own = job.store
    assert own is not None
    port = ZooKeeperPort(own.host, own.port)
    config = BrokerConfig({**job.config, "log.dirs": own.directory})
    store = with_first_users(port.serving(environment), own.users).open_store(config, environment.clock)
    undo.push_async_callback(store.close)
    return replace(environment, open_store=lambda _, clock: BorrowedStore(store, clock)), port


async def _start(node: BrokerNode, port: ZooKeeperPort | None, job: Job, channel: Channel[Order]) -> None:
    """Start the broker; report `Started`, and `SeesAll` once its image has the whole cluster and its topics.

    The last broker creates them: where it fails, the first one still has the store that the others need to
    leave the cluster.
    """
    await node.start()
    zookeeper_port = None if port is None else port.port
    channel.send(Started(node.bootstrap_servers, zookeeper_port, tuple(node.served)))
    cluster, changed = node.parts.storage.metadata, asyncio.Event()
    cluster.subscribe(lambda *_: changed.set())

    async def until(condition: Callable[[], bool]) -> None:
        while not condition():
            changed.clear()
            await changed.wait()

    await until(
        lambda: (
            len(cluster.image.brokers) >= job.brokers and cluster.image.controller_id in cluster.image.brokers
        )
    )
    if job.broker_id == job.brokers - 1:
        await make_first_topics(node.parts, job.topics)
    await until(lambda: all(topic.name in cluster.image.topics for topic in job.topics))
    channel.send(SeesAll())


async def _end(channel: Channel[Order], *, has_store: bool) -> bool:
    """Wait until this broker must end; return whether the other brokers continue.

    They cannot continue without the store: SIGTERM to the process that keeps it is reported to the command.
    """
    loop, terminated = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(
        signal.SIGTERM, (lambda: channel.send(StopAll())) if has_store else terminated.set
    )
    command = asyncio.ensure_future(channel.receive())
    stopped = asyncio.ensure_future(terminated.wait())
    await asyncio.wait({command, stopped}, return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if not command.done():
        command.cancel()
        return True
    if command.result() is None:
        signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)
    return False
