"""Errors of the commands that connect to a ZooKeeper, if none answers."""

from __future__ import annotations

import socket

import pytest

from kcompat.cli.zookeeper import FAILED, attempt, session


def test_nobody_answers(capsys: pytest.CaptureFixture[str]) -> None:
    def connect() -> None:
        with session(address, timeout_s=0.5):
            pytest.fail("nobody is there")

    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        assert attempt(connect) == FAILED
    assert capsys.readouterr().err == f"kcompat: no ZooKeeper answers at {address}\n"
