"""Signals end the waits of a command, and nothing else that it does."""

from __future__ import annotations

import os
import signal
import socket
import time
from typing import TYPE_CHECKING

import pytest

from kcompat.admin.sockets import BlockingSocket
from kcompat.admin.waiting import StoppedError, await_data, closing, pause, stopped_by

if TYPE_CHECKING:
    from kcompat.net.outbound import Ending

A_MINUTE_S = 60.0


def ask_to_stop() -> None:
    os.kill(os.getpid(), signal.SIGUSR1)


class Receiver:
    """An owner of a connection whose process gets a signal with each frame."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []

    def connected(self) -> None:
        pass

    def received(self, frame: memoryview) -> None:
        ask_to_stop()
        self.frames.append(bytes(frame))

    def ended(self, ending: Ending) -> None:
        raise AssertionError(ending)


def test_a_frame_that_comes_with_a_signal_is_taken_and_the_next_wait_ends() -> None:
    receiver = Receiver()
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = BlockingSocket(server.getsockname(), receiver, timeout_ms=60_000, max_frame=100)
        assert client.pump(time.monotonic() + A_MINUTE_S)
        with server.accept()[0] as far, stopped_by(signal.SIGUSR1):
            far.sendall(b"\0\0\0\x01a\0\0\0\x01b")
            assert client.pump(time.monotonic() + A_MINUTE_S)
            assert client.pump(time.monotonic() + A_MINUTE_S)  # of what is received already
            with pytest.raises(StoppedError):
                client.pump(time.monotonic() + A_MINUTE_S)
        client.close()
    assert receiver.frames == [b"a", b"b"]


def test_copies_of_a_signal_are_ignored() -> None:
    with stopped_by(signal.SIGUSR1, impatience_s=A_MINUTE_S):
        ask_to_stop()
        ask_to_stop()
        with pytest.raises(StoppedError):
            pause(0)


def test_a_later_signal_ends_the_command() -> None:
    with stopped_by(signal.SIGUSR1, impatience_s=0):
        ask_to_stop()
        with pytest.raises(KeyboardInterrupt):
            ask_to_stop()


def test_the_end_of_a_command_may_wait_although_a_signal_has_stopped_it() -> None:
    with stopped_by(signal.SIGUSR1):
        ask_to_stop()
        with closing():
            pause(0)
            ask_to_stop()
        with pytest.raises(StoppedError):
            pause(0)


def test_a_signal_ends_a_wait_and_what_comes_later_can_be_received() -> None:
    near, far = socket.socketpair()
    with near, far:
        with stopped_by(signal.SIGUSR1):
            ask_to_stop()
            with pytest.raises(StoppedError) as stopped:
                await_data(near, time.monotonic() + A_MINUTE_S)
        assert stopped.value.code == 128 + signal.SIGUSR1
        far.sendall(b"later")
        await_data(near, time.monotonic() + A_MINUTE_S)
        assert near.recv(5) == b"later"


def test_a_signal_wakes_a_wait() -> None:
    near, far = socket.socketpair()
    with near, far, stopped_by(signal.SIGALRM):
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        with pytest.raises(StoppedError):
            await_data(near, time.monotonic() + A_MINUTE_S)


def test_waits_end_in_their_time() -> None:
    near, far = socket.socketpair()
    with near, far:
        with pytest.raises(TimeoutError):
            await_data(near, time.monotonic() + 0.001)
        with pytest.raises(TimeoutError):
            await_data(near, time.monotonic() - 1)
    pause(-1)


def test_handlers_are_as_before_afterwards() -> None:
    before = signal.getsignal(signal.SIGUSR1)
    with stopped_by(signal.SIGUSR1):
        ask_to_stop()
    assert signal.getsignal(signal.SIGUSR1) is before
    with stopped_by(signal.SIGUSR1):
        pause(0)  # the signal of the block before asks for nothing any more
