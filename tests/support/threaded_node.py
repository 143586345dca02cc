"""A broker in a thread of its own, as `kcompat.Broker` runs one, whose disk is the test's."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from kcompat.config.broker import BrokerConfig
from kcompat.node.broker import BrokerNode
from kcompat.node.environment import real_environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from kcompat.log.files import Files

PATIENCE_S = 60


@contextmanager
def node_on(files: Files, data_dir: Path, config: Mapping[str, str]) -> Iterator[BrokerNode]:
    """A broker that serves on a free port and stores through `files`, until this ends."""
    everything = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(data_dir), **config}
    started: Future[tuple[BrokerNode, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        environment = msgspec.structs.replace(real_environment(), files=files)
        node, stopping = BrokerNode(BrokerConfig(everything), environment), asyncio.Event()
        try:
            await node.start()
        except BaseException as failure:
            started.set_exception(failure)
            raise
        started.set_result((node, asyncio.get_running_loop(), stopping))
        await stopping.wait()
        await node.stop()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="node")
    thread.start()
    node, loop, stopping = started.result(PATIENCE_S)
    try:
        yield node
    finally:
        loop.call_soon_threadsafe(stopping.set)
        thread.join(PATIENCE_S)
        assert not thread.is_alive(), "the broker stops"
