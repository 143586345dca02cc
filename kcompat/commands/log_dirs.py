"""`kcompat log-dirs`: log directories of brokers. Kafka's counterpart: `LogDirsCommand`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from kcompat.admin.errors import PACKAGE, JavaError, error_of_code
from kcompat.commands.connecting import connect
from kcompat.commands.options import OptionParser, no_number, terse
from kcompat.commands.output import print_failure, print_json
from kcompat.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.admin.client import AdminClient
    from kcompat.commands.options import Options


def parser() -> OptionParser:
    """Return the parser of the command."""
    made = OptionParser("This tool helps to query log directory usage on the specified brokers.")
    made.accepts_connection()
    made.accepts_output()
    made.accepts("describe", "REQUIRED: Describe the log directories.")
    made.accepts("topic-list", "Topics to show, as topic1,topic2. Default: all.", "Topic list")
    made.accepts("broker-list", "Brokers to ask, as 0,1,2. Default: all.", "Broker list")
    return made


def run(words: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    try:
        options = parser().parse(words)
        options.end_for_help()
        options.require("bootstrap-server", "describe")
        with connect(options, defaults={"client.id": "log-dirs-tool"}) as admin:
            _describe(admin, options)
    except JavaError as error:
        if error.name == "TerseException":
            sys.stderr.write(f"{error}\n")
        else:
            print_failure(error)
        return 1
    return 0


def _describe(admin: AdminClient, options: Options) -> None:
    live = sorted(admin.cluster().nodes)
    wanted = _numbers(options.value("broker-list", ""))
    unknown = [each for each in wanted if each not in live]
    if unknown:
        raise terse(
            f"ERROR: The given brokers do not exist from --broker-list: {_joined(unknown)}. Current existent "
            f"brokers: {_joined(live)}"
        )
    asked = wanted or live
    if not options.json:
        sys.stdout.write("Querying brokers for log directories information\n")
    request = DescribeLogDirsRequest(None)
    responses = admin.ask_each(dict.fromkeys(asked, request), name="describeLogDirs")
    topics = {each for each in options.value("topic-list", "").split(",") if each}
    brokers = []
    for broker_id, response in sorted(responses.items()):
        if isinstance(response, JavaError):
            raise response
        if response.error_code:
            raise error_of_code(response.error_code)
        directories = [_directory(each, topics) for each in response.results]
        brokers.append({"broker": broker_id, "logDirs": directories})
    if not options.json:
        sys.stdout.write(f"Received log directory information from brokers {_joined(asked)}\n")
    print_json({"brokers": brokers, "version": 1})


def _directory(row: DescribeLogDirsResponse.DescribeLogDirsResult, topics: set[str]) -> dict[str, Any]:
    """Return one log directory, with the keys in the order of Kafka's command."""
    partitions = [
        {
            "partition": f"{topic.name}-{each.partition_index}",
            "size": each.partition_size,
            "offsetLag": each.offset_lag,
            "isFuture": each.is_future_key,
        }
        for topic in row.topics
        for each in topic.partitions
        if not topics or topic.name in topics
    ]
    error = f"{PACKAGE}{error_of_code(row.error_code).name}" if row.error_code else None
    return {"partitions": partitions, "error": error, "logDir": row.log_dir}


def _numbers(text: str) -> list[int]:
    found: dict[int, None] = {}
    for each in filter(None, text.split(",")):
        try:
            found[int(each)] = None
        except ValueError:
            raise no_number(each) from None
    return list(found)


def _joined(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids))
