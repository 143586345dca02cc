"""Several real ZooKeepers that are one ensemble, on the loopback address."""

from __future__ import annotations

import re
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from support.ports import free_port
from zookeeper_kafka import ZooKeeper

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

START_TIMEOUT_S = 60


class Member(ZooKeeper):
    """One of them; it is ready once a majority of them has a leader."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.name_to_others = f"server.{number}=127.0.0.1:{free_port()}:{free_port()}"
        self.ensemble: list[str] = []
        """Lines of zoo.cfg that name the members of the ensemble."""

    def prepare(self) -> None:
        """Write its zoo.cfg and its number."""
        super().prepare()
        lines = [*self.ensemble, "initLimit=20", "syncLimit=10", "4lw.commands.whitelist=srvr,cons"]
        with (self.home / "zoo.cfg").open("a") as config:
            config.writelines(f"{line}\n" for line in lines)
        (self.home / "data").mkdir(exist_ok=True)
        (self.home / "data" / "myid").write_text(str(self.number))

    def said(self, word: str) -> str:
        """Its answer to a four-letter word."""
        with socket.create_connection((self.host, self.port), 5) as connection:
            connection.sendall(word.encode())
            with connection.makefile("rb") as answer:
                return answer.read().decode()

    @property
    def leads(self) -> bool:
        """Whether it leads the ensemble."""
        return "Mode: leader\n" in self.said("srvr")

    def sessions(self) -> set[int]:
        """Whose clients are connected to it."""
        return {int(text, 16) for text in re.findall(r"sid=0x([0-9a-f]+)", self.said("cons"))}


class ZooKeeperEnsemble:
    """So many of them, and a path below which somebody keeps all; `with` runs them."""

    def __init__(self, members: int = 3, chroot: str = "") -> None:
        self.members = [Member(number) for number in range(1, members + 1)]
        for member in self.members:
            member.ensemble = [each.name_to_others for each in self.members]
        self.chroot = chroot

    @property
    def bootstrap(self) -> str:
        """As in zookeeper.connect."""
        return ",".join(member.bootstrap for member in self.members) + self.chroot

    def running(self) -> list[Member]:
        """Return the members that have not been killed."""
        return [member for member in self.members if member.is_running()]

    def leader(self) -> Member:
        """The one that leads the others."""
        (leader,) = (member for member in self.running() if member.leads)
        return leader

    def connected(self) -> Mapping[int, Member]:
        """Where each session has its connection."""
        return {session: member for member in self.running() for session in member.sessions()}

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            for member in self.members:
                undo.callback(member.close)
            start_together(self.members)
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()


def start_together(members: Iterable[Member]) -> None:
    """None is ready before most are."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda member: member.start(START_TIMEOUT_S), members))
