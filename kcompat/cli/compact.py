"""`kcompat compact`: compact topics now, in the broker that runs on the data directory if there is one."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kcompat.cli.logs import set_up_logging
from kcompat.cli.progress import INTERVAL_S, ProgressBar
from kcompat.cli.start import read_config
from kcompat.config.errors import ConfigError
from kcompat.log.cleaner.cleaner import Compacted
from kcompat.log.cleaner.watch import Progress
from kcompat.log.names import META_PROPERTIES
from kcompat.net.admin_socket import AdminSocketClient

if TYPE_CHECKING:
    import argparse
    from types import TracebackType
    from typing import Self

    from kcompat.config.broker import BrokerConfig

FAILED = 1

_OWN_LISTENER = {
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "advertised.listeners": "",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "log.cleaner.enable": "false",
}
"""Settings of a broker that no client can reach, and that cleans only the topics of the command."""


def run(options: argparse.Namespace) -> int:
    """Compact the topics; return exit code 1 if that failed for a partition, or if a topic has none."""
    from kcompat.log.errors import LogDirectoryError
    from kcompat.net.listener import ListenerError
    from kcompat.store.interface import StoreError

    try:
        set_up_logging(os.environ)
        config = read_config(options, os.environ, options.data_dir).with_static(_OWN_LISTENER)
        strange = [path for path in config.log_dirs if not (Path(path) / META_PROPERTIES).is_file()]
        if strange:
            print(f"kcompat: {strange[0]} is no broker's data directory", file=sys.stderr)
            return FAILED
        running = AdminSocketClient.connect(config.log_dirs[0])
        if running is None:
            return asyncio.run(_compact(config, options.topics))
        with running:
            return max([_ask(running, topic) for topic in options.topics])
    except (ConfigError, ListenerError, LogDirectoryError, StoreError, ConnectionError) as error:
        print(f"kcompat: {error}", file=sys.stderr)
    except OSError as error:
        reason = error.strerror or error
        print(f"kcompat: the broker on {config.log_dirs[0]} cannot be reached: {reason}", file=sys.stderr)
    return FAILED


def _ask(running: AdminSocketClient, topic: str) -> int:
    """Have a running broker compact a topic, show its progress, and return the exit code."""
    with _Printer(topic) as printer:
        for answer in running.ask("compact", topic, Compacted | Progress):
            printer.add(answer)
    return printer.code


async def _compact(config: BrokerConfig, topics: list[str]) -> int:
    """Compact topics with a broker in this process that no client can reach; return the exit code."""
    from kcompat.node.broker import BrokerNode
    from kcompat.node.environment import real_environment

    node = BrokerNode(config, real_environment())
    await node.start()
    codes = []
    try:
        for topic in topics:
            with _Printer(topic) as printer:
                async for answer in node.compacting(topic):
                    printer.add(answer)
            codes.append(printer.code)
    finally:
        await node.stop()
    return max(codes)


class _Printer:
    """Output of the command for one topic; `code` is the exit code for the topic."""

    def __init__(self, topic: str, interval_s: float = INTERVAL_S) -> None:
        self.code = FAILED
        self._topic = topic
        self._interval_s = interval_s
        self._bar: ProgressBar | None = None
        self._results = 0
        self._problems = 0

    def add(self, answer: Compacted | Progress) -> None:
        """Show a progress report or a result of the broker."""
        if isinstance(answer, Progress):
            self._bar = self._bar or ProgressBar(answer.bytes_total, shown=True, interval_s=self._interval_s)
            self._bar.at(answer.bytes_done)
            return
        if self._bar is not None:
            self._bar.clear()
        print(_sentence(answer), flush=True)
        self._results += 1
        self._problems += answer.problem is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.clear()
        if kind is None and not self._results:
            print(f"kcompat: there is no topic {self._topic}", file=sys.stderr)
        self.code = 0 if self._results and not self._problems else FAILED


def _sentence(result: Compacted) -> str:
    name = f"{result.topic}-{result.partition}"
    if result.problem:
        return f"{name} was not compacted: {result.problem}"
    return f"{name}: {result.bytes_before} bytes became {result.bytes_after}"
