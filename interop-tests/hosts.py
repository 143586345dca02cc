"""Several hosts on this machine, each a network namespace of Linux with an address of its own, and the links
between them, which can be cut and slowed.

A cut link drops what is sent, as a broken switch does: nobody is told. A slowed one carries few bytes a
second, and what is sent meanwhile waits in its queue. It needs root and the commands `ip` and `tc`, of
iproute2.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

_SUBNETS = 250


def are_possible() -> bool:
    """Whether this machine lets us have hosts."""
    return os.geteuid() == 0 and all(map(shutil.which, ("ip", "tc")))


class Host:
    """One host of a `Hosts`."""

    def __init__(self, namespace: str, address: str) -> None:
        self.namespace = namespace
        self.address = address

    def command(self, command: Sequence[str]) -> list[str]:
        """The command line that runs a command on this host."""
        return ["ip", "netns", "exec", self.namespace, *command]

    def run(self, *command: str) -> None:
        """Run a command on this host to its end. Raises CalledProcessError."""
        _run(*self.command(command))


class Hosts:
    """So many hosts on one switch, to which this process is connected too, at `address`. The switch has a
    namespace of its own, so that no firewall of this machine is between them.
    """

    def __init__(self, count: int) -> None:
        number, self._claim = claim_number()
        self._tag = f"kcompat{number}"
        subnet = f"10.78.{number}"
        self.address = f"{subnet}.254"
        self.hosts = [Host(f"{self._tag}-{index}", f"{subnet}.{index + 1}") for index in range(count)]
        self._cut: set[tuple[Host, str]] = set()
        self._slowed: set[Host] = set()

    def __enter__(self) -> Self:
        switch = f"{self._tag}-switch"
        self._remove()  # what tests that were killed have left
        try:
            _run("ip", "netns", "add", switch)
            _run("ip", "-n", switch, "link", "add", "bridge", "type", "bridge")
            _run("ip", "-n", switch, "link", "set", "bridge", "up")
            _run("ip", "link", "add", self._tag, "type", "veth", "peer", "name", "us", "netns", switch)
            _run("ip", "-n", switch, "link", "set", "us", "master", "bridge", "up")
            _run("ip", "address", "add", f"{self.address}/24", "dev", self._tag)
            _run("ip", "link", "set", self._tag, "up")
            for host in self.hosts:
                outer = f"to-{host.address.rpartition('.')[2]}"
                _run("ip", "netns", "add", host.namespace)
                _run(
                    *("ip", "-n", switch, "link", "add", outer, "type", "veth"),
                    *("peer", "name", "eth0", "netns", host.namespace),
                )
                _run("ip", "-n", switch, "link", "set", outer, "master", "bridge", "up")
                host.run("ip", "address", "add", f"{host.address}/24", "dev", "eth0")
                host.run("ip", "link", "set", "eth0", "up")
                host.run("ip", "link", "set", "lo", "up")
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def cut(self, host: Host, *others: Host) -> None:
        """Drop everything between a host and others; without others, between it and all, us included."""
        addresses = [other.address for other in others] or [
            self.address,
            *(other.address for other in self.hosts if other is not host),
        ]
        for address in addresses:
            if (host, address) not in self._cut:
                host.run("ip", "route", "add", "blackhole", f"{address}/32")
                self._cut.add((host, address))

    def slow(self, host: Host, *others: Host, kbit_s: int) -> None:
        """Between a host and each of these others no more gets through than so many kbit a second, in either
        direction.
        """
        for other in others:
            self._limit(host, other, kbit_s)
            self._limit(other, host, kbit_s)

    def _limit(self, source: Host, target: Host, kbit_s: int) -> None:
        number = target.address.rpartition(".")[2]
        if source not in self._slowed:
            source.run("tc", "qdisc", "add", "dev", "eth0", "root", "handle", "1:", "htb")
            self._slowed.add(source)
        rate = ("htb", "rate", f"{kbit_s}kbit", "quantum", "1600")
        source.run("tc", "class", "replace", "dev", "eth0", "parent", "1:", "classid", f"1:{number}", *rate)
        where = ("match", "ip", "dst", f"{target.address}/32", "flowid", f"1:{number}")
        source.run("tc", "filter", "add", "dev", "eth0", "parent", "1:", "protocol", "ip", "u32", *where)

    def heal(self) -> None:
        """Undo all that was cut and slowed."""
        while self._slowed:
            self._slowed.pop().run("tc", "qdisc", "delete", "dev", "eth0", "root")
        while self._cut:
            host, address = self._cut.pop()
            host.run("ip", "route", "delete", "blackhole", f"{address}/32")

    def _close(self) -> None:
        self._remove()
        self._claim.close()

    def _remove(self) -> None:
        for namespace in (*(host.namespace for host in self.hosts), f"{self._tag}-switch"):
            subprocess.run(["ip", "netns", "delete", namespace], check=False, capture_output=True)
        subprocess.run(["ip", "link", "delete", self._tag], check=False, capture_output=True)


def claim_number() -> tuple[int, socket.socket]:
    """A number that no other process of this machine has, and the socket that holds it while it is open."""
    for number in range(_SUBNETS):
        holder = socket.socket(socket.AF_UNIX)
        try:
            holder.bind(f"\0kcompat-hosts-{number}")
        except OSError:
            holder.close()
        else:
            return number, holder
    raise RuntimeError(f"{_SUBNETS} tests have networks already")


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
