"""`kcompat compact`: compact topics in a data directory that no broker runs on."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kcompat.cli.logs import set_up_logging
from kcompat.cli.start import read_config
from kcompat.config.errors import ConfigError

if TYPE_CHECKING:
    import argparse

    from kcompat.config.broker import BrokerConfig
    from kcompat.log.cleaner.cleaner import Compacted

FAILED = 1

_OWN_LISTENER = {
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "advertised.listeners": "",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "log.cleaner.enable": "false",
}
"""A port that no client knows of, and no cleaning but what was asked for."""


def run(options: argparse.Namespace) -> int:
    """Compact the topics; 1 if that failed for a partition, or if there is none."""
    from kcompat.cluster.store import StoreError
    from kcompat.log.errors import LogDirectoryError, StorageError
    from kcompat.net.listener import ListenerError

    options.port = None
    try:
        set_up_logging(os.environ)
        directory = None if options.data_dir is None else options.data_dir.absolute()
        config = read_config(options, os.environ, directory).with_static(_OWN_LISTENER)
        missing = [path for path in config.log_dirs if not Path(path).is_dir()]
        if missing:
            print(f"kcompat: there is no data directory {missing[0]}", file=sys.stderr)
            return FAILED
        return asyncio.run(_compact(config, options.topics))
    except (ConfigError, ListenerError, LogDirectoryError, StorageError, StoreError) as error:
        print(f"kcompat: {error}", file=sys.stderr)
        return FAILED


async def _compact(config: BrokerConfig, topics: list[str]) -> int:
    from kcompat.broker import BrokerNode

    node = BrokerNode(config)
    await node.start()
    code = 0
    try:
        for topic in topics:
            results = await node.compact(topic)
            if not results:
                print(f"kcompat: there is no topic {topic}", file=sys.stderr)
                code = FAILED
            for result in results:
                print(_sentence(result), flush=True)
                code = FAILED if result.problem else code
    finally:
        await node.stop()
    return code


def _sentence(result: Compacted) -> str:
    name = f"{result.topic}-{result.partition}"
    if result.problem:
        return f"{name} was not compacted: {result.problem}"
    return f"{name}: {result.bytes_before} bytes became {result.bytes_after}"
