"""A broker of `kcompat start` with a control port."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from support.control_client import ControlClient
from support.eventually import limit_s
from support.raw_client import RawClient
from support.start_command import started

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

READY: Final = re.compile(r"kcompat is listening on (\S+) and stores in .+\n")
URL: Final = re.compile(r"the control port is (http://127\.0\.0\.1:\d+)\n")


class ControlledBroker(NamedTuple):
    """A broker, or several of them, and their control port."""

    bootstrap: str
    """Bootstrap servers, as clients take them."""
    control: ControlClient

    def clients(self) -> Iterator[RawClient]:
        """Connect a client with the client id `raw` to each broker, one after the other."""
        for address in self.bootstrap.split(","):
            host, _, port = address.rpartition(":")
            with RawClient((host, int(port)), client_id="raw") as client:
                yield client


@contextmanager
def controlled_broker(*options: str, cwd: Path) -> Iterator[ControlledBroker]:
    """Start a broker with a control port; at the end it stops cleanly. AssertionError if it does not, or has
    logged an error.
    """
    with started("--port", "0", "--control-port", "0", *options, cwd=cwd) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline(), process.stdout.readline()]
        bootstrap, url = READY.fullmatch(lines[0]), URL.fullmatch(lines[1])
        assert bootstrap is not None, (lines, process.communicate())
        assert url is not None, (lines, process.communicate())
        yield ControlledBroker(bootstrap[1], ControlClient(url[1]))
        process.terminate()
        out, err = process.communicate(timeout=limit_s(20))
        assert (process.returncode, out) == (0, ""), err
        assert " ERROR " not in err, err
