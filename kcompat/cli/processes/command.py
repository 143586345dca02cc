"""`kcompat start --brokers N --processes`, until a signal or the end of the store ends it."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from kcompat.cli.announcement import announce, warn_of_unknown_names
from kcompat.cli.own_process import ended_by_signals
from kcompat.cli.processes.supervisor import BrokerFailedError, ProcessCluster
from kcompat.cli.service_manager import report_service
from kcompat.config.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.config.broker import BrokerConfig
    from kcompat.config.first_topics import FirstTopic
    from kcompat.security.added_users import AddedUser


def run(
    config: BrokerConfig,
    brokers: int,
    zookeeper: tuple[str, int] | None,
    log_level: str | None,
    users: Sequence[AddedUser],
    topics: Sequence[FirstTopic],
    started: Callable[[str], Sequence[str]],
) -> int:
    """Run each broker in a process of its own; return the exit code. `started` is as in
    `kcompat.cli.start.run_brokers`. Raises ConfigError, ListenerError.
    """
    if brokers == 1:
        raise ConfigError("--processes is for several brokers: say how many with --brokers")
    cluster = ProcessCluster(config, brokers, zookeeper, log_level, users, topics)
    try:
        asyncio.run(_serve(cluster, config, started, shows_zookeeper=zookeeper is not None))
    except BrokerFailedError as error:
        print(f"kcompat: {error}", file=sys.stderr)
        return 1
    return int(cluster.has_failed)


async def _serve(
    cluster: ProcessCluster,
    config: BrokerConfig,
    started: Callable[[str], Sequence[str]],
    *,
    shows_zookeeper: bool,
) -> None:
    async with AsyncExitStack() as undo:
        undo.push_async_callback(cluster.stop)
        with ended_by_signals(cluster.over):
            starting = asyncio.create_task(cluster.start())
            over = asyncio.create_task(cluster.over.wait())
            await asyncio.wait({starting, over}, return_when=asyncio.FIRST_COMPLETED)
            if over.done():
                starting.cancel()
                return
            await starting
            zookeeper = cluster.zookeeper if shows_zookeeper else None
            lines = started(cluster.addresses)
            announce(
                cluster.addresses, cluster.served_listeners, config.log_dirs, zookeeper, None, others=lines
            )
            report_service(undo)
            undo.callback(asyncio.create_task(warn_of_unknown_names(cluster.served_listeners)).cancel)
            await over
