"""The end of a real process, as a failure_detector on sockets sees it."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.image import BrokerInfo
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.config.broker import BrokerConfig, ConfigFeed
from kcompat.controller.state import RegisteredBroker
from kcompat.net.loop_clock import LoopClock
from kcompat.net.outbound_socket import SocketConnector
from kcompat.peer.failure_detector import FailureDetector
from kcompat.peer.peers import Peers
from support.kcompat_broker import KcompatBroker

if TYPE_CHECKING:
    from collections.abc import Mapping

WITHIN_S = 5.0
"""Far more than it takes, for a machine that is busy; a session ends after 18 s."""


async def test_a_killed_broker_is_seen_and_one_that_comes_back() -> None:
    loop = asyncio.get_running_loop()
    ports = (SocketConnector(loop), LoopClock(loop), random.Random(1))
    peers = Peers(9, ConfigFeed(BrokerConfig({})), MetadataCache(""), ports)
    seen: asyncio.Queue[Mapping[int, int]] = asyncio.Queue()
    failure_detector = FailureDetector(peers, seen.put_nowait)
    with KcompatBroker() as broker:
        info = BrokerInfo(1, None, {"PLAINTEXT": ("127.0.0.1", broker.port)})
        failure_detector.follow({1: RegisteredBroker(info, 7)})
        os.kill(broker.pid, signal.SIGSTOP)
        with pytest.raises(TimeoutError):  # a stopped process is silent, and refuses nothing
            await asyncio.wait_for(seen.get(), 0.2)
        begun = time.monotonic()
        broker.kill()
        assert await asyncio.wait_for(seen.get(), WITHIN_S) == {1: 7}
        assert time.monotonic() - begun < WITHIN_S
        await asyncio.to_thread(broker.start)
        assert await asyncio.wait_for(seen.get(), WITHIN_S) == {}
        failure_detector.close()
