"""Random conversations: whatever is cut, delayed, muted or interrupted, answers match requests in order."""

from __future__ import annotations

import asyncio
import random
import struct
import tempfile
from contextlib import AsyncExitStack

import pytest

from kcompat.net.answers import Mode, Waiting
from kcompat.net.limits import Limits
from kcompat.net.sizes import KIB
from kcompat.promise import Promise
from support.raw_peer import RawPeer, ScriptedHandler, framed, peer_of, serving
from support.tls_authority import Authority

pytestmark = pytest.mark.usefixtures("either_poll")

SIZES = [2, 10, 300, 5_000, 70_000, 300_000, 1_200_000]
KINDS = ["now", "fetch", "now", "none", "pipelined", "blocking", "range", "mute", "now"]
"""By the low byte of the API key: 1 is Fetch."""


class Range:
    def __init__(self, file, length):
        self.file, self.position, self.length = file, 0, length

    def fileno(self):
        return self.file.fileno()

    def __len__(self):
        return self.length


class RandomBroker:
    """Answers each frame `key + number + padding` with its number, in the way its key says."""

    def __init__(self, chosen, file):
        self.chosen = chosen
        self.file = file

    def __call__(self, connection, frame):
        kind = KINDS[frame[1]]
        answer = [framed(bytes(frame[2:6]))]
        if kind == "none":
            return None
        if kind == "mute":
            connection.mute(self.chosen.randrange(10))
        if kind == "range":
            size = self.chosen.choice([1, 20_000, 2_000_000])
            return [struct.pack(">i", 4 + size), bytes(frame[2:6]), Range(self.file, size)]
        if kind in ("pipelined", "blocking", "fetch"):
            promise = Promise()
            mode = {"pipelined": Mode.PIPELINED, "blocking": Mode.BLOCKING}.get(kind, Mode.INTERRUPTIBLE)
            delay = self.chosen.choice([0, 0, 0.001, 0.01])
            asyncio.get_running_loop().call_later(delay, promise.complete, answer)
            return Waiting(
                promise, mode, (lambda: promise.complete(answer)) if mode is Mode.INTERRUPTIBLE else None
            )
        return answer


async def talk(chosen: random.Random, peer: RawPeer, count: int) -> None:
    """Send `count` random frames in random cuts, and expect an answer to each in order."""
    stream, expected = bytearray(), []
    for number in range(count):
        kind = chosen.randrange(len(KINDS))
        stream += framed(bytes([0, kind]) + struct.pack(">i", number) + bytes(chosen.choice(SIZES)))
        if KINDS[kind] != "none":
            expected.append(number)

    async def send() -> None:
        at = 0
        while at < len(stream):
            size = chosen.choice([1, 3, 100, 10_000, 500_000])
            peer.send(stream[at : at + size])
            at += size
            await peer.writer.drain()

    sending = asyncio.create_task(send())
    for number in expected:
        answer = await peer.frame()
        assert struct.unpack_from(">i", answer)[0] == number
    await sending


@pytest.mark.parametrize("seed", range(6))
async def test_answers_match_requests_in_order(seed):
    await talk_of_three(seed)


@pytest.mark.parametrize("seed", range(3))
async def test_answers_match_requests_in_order_through_tls(seed):
    authority = Authority()
    await talk_of_three(seed, tls=authority.server(), ssl=authority.client_context())


async def talk_of_three(seed: int, tls=None, **options) -> None:
    """Three peers with random frames at once; `options` go to `asyncio.open_connection`."""
    chosen = random.Random(seed)
    limits = Limits(max_pipelined=5, receive_memory=chosen.choice([256, 16 * KIB]) * KIB)
    with tempfile.TemporaryFile() as file:
        file.truncate(2_000_000)
        handler = ScriptedHandler(RandomBroker(chosen, file))
        async with AsyncExitStack() as stack:
            server = await stack.enter_async_context(serving(handler, limits, tls=tls))
            peers = [await stack.enter_async_context(peer_of(server, **options)) for _ in range(3)]
            await asyncio.gather(*(talk(chosen, peer, 60) for peer in peers))
            await handler.until_frames(180)
            assert server.hub.memory.used == 0
