"""Kafka's commands: name, module, script and help line. To add one, add its module and a row here."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from kcompat.commands.options import OptionParser

    Run: TypeAlias = Callable[[Sequence[str]], int]


class Command(Struct, frozen=True):
    """One of Kafka's commands."""

    name: str
    """The word after `kcompat`; Kafka's script is called `kafka-NAME.sh`."""
    help: str

    @property
    def script(self) -> str:
        """Name of Kafka's script, without `.sh`."""
        return f"kafka-{self.name}"

    def load(self) -> Run:
        """Return the function of the command, importing its module."""
        run: Run = self._module().run
        return run

    def load_parser(self) -> OptionParser | ArgumentParser:
        """Return the parser of the command, importing its module."""
        made: OptionParser | ArgumentParser = self._module().parser()
        return made

    def _module(self) -> Any:
        return importlib.import_module(f"kcompat.commands.{self.name.replace('-', '_')}")


COMMANDS: Final = {
    command.name: command
    for command in (
        Command("topics", "create, list, describe, alter and delete topics"),
        Command("configs", "show and change configs, quotas and SCRAM users"),
        Command("get-offsets", "print the offsets of partitions at a time"),
        Command("delete-records", "delete the records of partitions before an offset"),
        Command("log-dirs", "show the log directories of brokers and the sizes of replicas"),
        Command("features", "show and change the feature levels of a cluster"),
        Command("broker-api-versions", "show the APIs and versions that each broker serves"),
        Command("console-producer", "write lines of standard input to a topic"),
        Command("console-consumer", "print the records of topics"),
        Command("consumer-groups", "list, describe and delete consumer groups, and reset their offsets"),
        Command("acls", "list, add and remove ACLs"),
        Command("transactions", "list and describe transactions, and abort hanging ones"),
        Command("reassign-partitions", "move partitions to other brokers and log directories"),
        Command("leader-election", "elect preferred or unclean leaders of partitions"),
        Command("cluster", "print the cluster's id or its brokers, or unregister a broker"),
    )
}
