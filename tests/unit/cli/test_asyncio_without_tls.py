"""A command that runs brokers does without OpenSSL, and leaves it to those who want it."""

from __future__ import annotations

import subprocess
import sys

from support.eventually import limit_s


def said_by(program: str) -> list[str]:
    """The lines that a program prints in a process of its own."""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=limit_s(60))
    return done.stdout.splitlines()


def test_a_broker_has_no_openssl_when_all_of_it_is_there() -> None:
    assert said_by(COMMAND)[1:] == ["all of it, without ssl, hashlib"]


COMMAND = """
import os, signal, sys, threading, time
from kcompat.cli.main import main
from kcompat.api.registry import SERVED

def look():
    names = [served.key.name for served in SERVED]
    refused = "_ACLS", "DELEGATION_TOKEN"  # and therefore not imported
    wanted = {f"kcompat.api.{name.lower()}" for name in names if not name.endswith(refused)}
    while not wanted <= set(sys.modules):
        time.sleep(0.001)
    print("all of it, without", ", ".join(each for each in ("ssl", "hashlib") if each not in sys.modules))
    os.kill(os.getpid(), signal.SIGTERM)

threading.Thread(target=look).start()
sys.exit(main(["start", "--memory", "--override", "listeners=PLAINTEXT://127.0.0.1:0"]))
"""


def test_who_wants_tls_has_it() -> None:
    program = (
        "from kcompat.cli import asyncio_without_tls\n"
        "asyncio_without_tls.load()\n"
        "import asyncio.base_events, ssl\n"
        "print(asyncio.base_events.ssl, bool(ssl.create_default_context()))\n"
    )
    assert said_by(program) == ["None True"]


def test_where_asyncio_is_there_already_nothing_is_changed() -> None:
    program = (
        "import asyncio, sys\n"
        "del sys.modules['ssl']\n"
        "from kcompat.cli import asyncio_without_tls\n"
        "asyncio_without_tls.load()\n"
        "print(asyncio.base_events.ssl is not None, 'ssl' in sys.modules)\n"
    )
    assert said_by(program) == ["True False"]
