"""`kcompat leader-election`: elect leaders of partitions, as `kafka-leader-election` does."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from kcompat.admin.client import CONTROLLER
from kcompat.admin.errors import JavaError, error_of_code
from kcompat.commands.connecting import connect
from kcompat.commands.json_files import command_failed, parse_elections, read_text
from kcompat.commands.options import OptionParser
from kcompat.commands.output import print_json
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.elect_leaders import ElectLeadersRequest
from kcompat.topics import by_topic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.admin.client import AdminClient
    from kcompat.commands.options import Options
    from kcompat.topics import TopicPartition

PURPOSE: Final = (
    "This tool attempts to elect a new leader for a set of topic partitions. "
    "The type of elections supported are preferred replicas and unclean replicas."
)
_TIMEOUT_MS: Final = 30_000
_TYPES: Final = {"PREFERRED": 0, "UNCLEAN": 1}
_SCOPES: Final = ("topic", "all-topic-partitions", "path-to-json-file")


def parser() -> OptionParser:
    """Return the parser of the command line."""
    found = OptionParser(PURPOSE)
    found.accepts(
        "bootstrap-server", "REQUIRED: The brokers to connect to, as HOST1:PORT1,HOST2:PORT2.", "host:port"
    )
    found.accepts("command-config|admin.config", "Properties file with settings of the client.", "file")
    found.accepts_output()
    found.accepts(
        "election-type",
        "REQUIRED: preferred elects the first replica where another one leads; unclean elects any replica "
        "where there is no leader, which loses records.",
        "election type",
    )
    found.accepts("topic", "The topic of the only partition.", "topic name")
    found.accepts("partition", "The only partition; needed with --topic.", "partition id")
    found.accepts("all-topic-partitions", "All partitions where an election is possible.")
    found.accepts(
        "path-to-json-file",
        'JSON file with the partitions: {"partitions": [{"topic": "foo", "partition": 1}]}.',
        "file",
    )
    return found


def run(arguments: Sequence[str]) -> int:
    """Run the command and return the exit code."""
    try:
        options = parser().parse(arguments)
        options.end_for_help()
        kind, partitions = _read(options)
        defaults = {"default.api.timeout.ms": str(_TIMEOUT_MS), "request.timeout.ms": str(_TIMEOUT_MS // 2)}
        with connect(options, defaults=defaults) as admin:
            _elect(admin, options, kind, partitions)
    except JavaError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _read(options: Options) -> tuple[str, list[TopicPartition] | None]:
    """Return the type of the election and the partitions, None for all. Raises JavaError."""
    missing = [name for name in ("bootstrap-server", "election-type") if not options.has(name)]
    if missing:
        raise command_failed(f"Missing required option(s): {', '.join(missing)}")
    if sum(map(options.has, _SCOPES)) != 1:
        raise command_failed(f"One and only one of the following options is required: {', '.join(_SCOPES)}")
    if options.has("topic") and not options.has("partition"):
        raise command_failed("Missing required option(s): partition")
    if options.has("partition") and not options.has("topic"):
        raise command_failed("Option partition is only allowed if topic is used")
    kind = options.converted("election-type", _type)
    if options.has("path-to-json-file"):
        try:
            return kind, parse_elections(read_text(options.value("path-to-json-file")))
        except JavaError as error:
            if error.name.startswith("Admin"):
                raise
            raise JavaError("RuntimeException", error.logged(), package="java.lang.") from None
    if options.has("topic"):
        return kind, [(options.value("topic"), options.number("partition"))]
    return kind, None


def _type(text: str) -> str:
    if text.upper() not in _TYPES:
        raise ValueError(text)
    return text.upper()


def _elect(admin: AdminClient, options: Options, kind: str, partitions: list[TopicPartition] | None) -> None:
    """Hold the elections and print their results. Raises JavaError if one failed."""
    rows = None
    if partitions is not None:
        rows = [ElectLeadersRequest.TopicPartitions(*row) for row in by_topic(partitions)]
    request = ElectLeadersRequest(_TYPES[kind], rows, _TIMEOUT_MS)
    response = admin.ask(request, CONTROLLER, name="electLeaders")
    if response.error_code:
        error = error_of_code(response.error_code)
        if error.code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            sys.stdout.write("Not authorized to perform leader election\n")
            raise command_failed("Not authorized to perform leader election")
        raise error
    errors: dict[str, JavaError | None] = {
        f"{topic.topic}-{row.partition_id}": error_of_code(row.error_code, row.error_message)
        if row.error_code
        else None
        for topic in response.replica_election_results
        for row in topic.partition_result
    }
    _report(kind, errors, is_json=options.json)


def _report(kind: str, errors: dict[str, JavaError | None], *, is_json: bool) -> None:
    def is_idle(error: JavaError | None) -> bool:
        return error is not None and error.code == ErrorCode.ELECTION_NOT_NEEDED

    elected = [name for name, error in errors.items() if error is None]
    idle = [name for name, error in errors.items() if is_idle(error)]
    failed = {name: error for name, error in errors.items() if error is not None and not is_idle(error)}
    if is_json:
        texts = {name: error.logged() for name, error in failed.items()}
        print_json({"elected": elected, "notNeeded": idle, "failed": texts})
    else:
        if elected:
            names = ", ".join(elected)
            sys.stdout.write(f"Successfully completed leader election ({kind}) for partitions {names}\n")
        if idle:
            sys.stdout.write(f"Valid replica already elected for partitions {', '.join(idle)}\n")
        for name, error in failed.items():
            sys.stdout.write(
                f"Error completing leader election ({kind}) for partition: {name}: {error.logged()}\n"
            )
    if failed:
        raise command_failed(f"{len(failed)} replica(s) could not be elected")
