"""`kcompat transactions`: look into transactions and abort hanging ones, as `kafka-transactions` does."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

from kcompat.admin.client import AdminClient
from kcompat.admin.errors import JavaError, error_of_code, raise_for
from kcompat.admin.settings import ClientSettings, read_command_config
from kcompat.admin.topics import describe_topics, list_topics
from kcompat.commands.options import CommandExit
from kcompat.commands.output import print_json
from kcompat.commands.positional import Argparse4jParser
from kcompat.commands.transaction_states import active_producers, describe_transaction, list_transactions
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.list_transactions import ListTransactionsRequest
from kcompat.protocol.messages.write_txn_markers import WriteTxnMarkersRequest

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import NoReturn

    from kcompat.topics import TopicPartition

PURPOSE: Final = (
    "This tool is used to analyze the transactional state of producers in the cluster. "
    "It can be used to detect and recover from hanging transactions."
)

_NO_TIME: Final = -1
_NO_OFFSET: Final = -1
_MS_A_MINUTE: Final = 60_000
_BATCH: Final = 500
_PRODUCERS: Final = (
    "ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence", "LastTimestamp",
    "CurrentTransactionStartOffset",
)  # fmt: skip
_DESCRIPTION: Final = (
    "CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState",
    "TransactionTimeoutMs", "CurrentTransactionStartTimeMs", "TransactionDurationMs", "TopicPartitions",
)  # fmt: skip
_REFUSALS: Final = {
    ErrorCode.INVALID_PRODUCER_EPOCH: "failed due an invalid producer epoch",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "failed due to cluster authorization error",
    ErrorCode.TRANSACTION_COORDINATOR_FENCED: (
        "failed since the provided coordinator epoch {} has been fenced by the active coordinator"
    ),
}
"""Reasons for which a broker refuses to abort a transaction, as Java's client words them."""
_LIST: Final = ("TransactionalId", "Coordinator", "ProducerId", "TransactionState")
_HANGING: Final = (
    "Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset", "LastTimestamp",
    "Duration(min)",
)  # fmt: skip


def parser() -> Argparse4jParser:
    """Return the parser of the command line."""
    made = Argparse4jParser(prog="kafka-transactions.sh", description=PURPOSE)
    made.add_argument("-v", "--version", action="store_true", help="show the version and exit")
    made.add_argument("--command-config", metavar="FILE", help="properties file with settings of the client")
    made.add_argument("--bootstrap-server", required=True, metavar="host:port", help="brokers to connect to")
    made.add_output()
    actions = made.add_subparsers(dest="command", required=True, metavar="COMMAND", title="commands")
    listing = actions.add_parser("list", help="list transactions")
    listing.add_argument(
        "--duration-filter", type=int, default=-1, help="only transactions that run longer, in ms"
    )
    listing.add_argument("--transactional-id-pattern", help="only ids that match this RE2 pattern")
    describe = actions.add_parser("describe", help="describe the state of an active transactional-id")
    describe.add_argument("--transactional-id", required=True, help="transactional id")
    producers = actions.add_parser("describe-producers", help="describe the producers of a partition")
    producers.add_argument("--broker-id", type=int, help="the replica to ask (default: the leader)")
    producers.add_argument("--topic", required=True, help="topic name")
    producers.add_argument("--partition", type=int, required=True, help="partition number")
    abort = actions.add_parser("abort", help="abort a hanging transaction")
    abort.add_argument("--topic", required=True, help="topic name")
    abort.add_argument("--partition", type=int, required=True, help="partition number")
    abort.add_argument("--start-offset", type=int, help="start offset of the transaction to abort")
    for name in ("producer-id", "producer-epoch", "coordinator-epoch"):
        abort.add_argument(f"--{name}", type=int, help=f"{name}, for brokers older than 3.0")
    hanging = actions.add_parser("find-hanging", help="find hanging transactions")
    hanging.add_argument("--broker-id", type=int, help="broker id to search for hanging transactions")
    hanging.add_argument("--max-transaction-timeout", type=int, default=15, help="in minutes (default: 15)")
    hanging.add_argument("--topic", help="topic name to limit the search to")
    hanging.add_argument("--partition", type=int, help="partition number")
    for action in (listing, describe, producers, hanging):
        action.add_output(is_of_action=True)
    return made


def run(arguments: Sequence[str]) -> int:
    """Run the command and return the exit code."""
    if {"-v", "--version"} & set(arguments):
        from importlib.metadata import version

        sys.stdout.write(f"kcompat {version('kcompat')}\n")
        return 0
    options = parser().parse_args(arguments)
    try:
        properties = read_command_config(options.command_config) if options.command_config else {}
    except JavaError as error:
        _fail("Failed to load admin client properties", error)
    try:
        with AdminClient(
            ClientSettings({**properties, "bootstrap.servers": options.bootstrap_server})
        ) as admin:
            _ACT[options.command](admin, options)
    except JavaError as error:
        sys.stderr.write(f"{error.logged()}\n")
        return 1
    return 0


def _fail(text: str, error: JavaError | None = None) -> NoReturn:
    """Print the reason of the failure, and end the command."""
    if error is not None:
        text += f": {error}. Enable debug logging for additional detail."
    sys.stderr.write(f"{text}\n")
    raise CommandExit(1)


def _print(options: argparse.Namespace, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table: columns as wide as their widest cell, with a tab behind each."""
    if options.output == "json":
        names = [name[0].lower() + name[1:].replace("(min)", "Minutes") for name in head]
        print_json([dict(zip(names, row, strict=True)) for row in rows])
        return
    cells = [head, *([["None" if cell is None else str(cell) for cell in row] for row in rows])]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        line = "".join(f"{cell:<{width}}\t" for cell, width in zip(row, widths, strict=True))
        sys.stdout.write(f"{line}\n")


# Actions


def _list(admin: AdminClient, options: argparse.Namespace) -> None:
    request = ListTransactionsRequest(
        duration_filter=options.duration_filter, transactional_id_pattern=options.transactional_id_pattern
    )
    try:
        found = list_transactions(admin, request)
    except JavaError as error:
        _fail("Failed to list transactions", error)
    _print(
        options,
        _LIST,
        [
            (row.transactional_id, broker_id, row.producer_id, row.transaction_state)
            for broker_id, row in found
        ],
    )


def _describe(admin: AdminClient, options: argparse.Namespace) -> None:
    name = options.transactional_id
    try:
        coordinator, row = describe_transaction(admin, name)
    except JavaError as error:
        _fail(f"Failed to describe transaction state of transactional-id `{name}`", error)
    start_ms = None if row.transaction_start_time_ms == _NO_TIME else row.transaction_start_time_ms
    partitions = [f"{topic.topic}-{index}" for topic in row.topics for index in topic.partitions]
    is_json = options.output == "json"
    values = (
        coordinator,
        name,
        row.producer_id,
        row.producer_epoch,
        row.transaction_state,
        row.transaction_timeout_ms,
        start_ms,
        None if start_ms is None else _now_ms() - start_ms,
        partitions if is_json else ",".join(partitions),
    )
    _print(options, _DESCRIPTION, [values])


def _describe_producers(admin: AdminClient, options: argparse.Namespace) -> None:
    partition = options.topic, options.partition
    try:
        found = active_producers(admin, [partition], options.broker_id)[partition]
    except JavaError as error:
        place = "leader" if options.broker_id is None else f"broker {options.broker_id}"
        _fail(f"Failed to describe producers for partition {_shown(partition)} on {place}", error)
    rows = [
        (
            row.producer_id,
            row.producer_epoch,
            row.coordinator_epoch,
            row.last_sequence,
            row.last_timestamp,
            None if row.current_txn_start_offset == _NO_OFFSET else row.current_txn_start_offset,
        )
        for row in found
    ]
    _print(options, _PRODUCERS, rows)


def _abort(admin: AdminClient, options: argparse.Namespace) -> None:
    if options.start_offset is None and options.producer_id is None:
        _fail(
            "The transaction to abort must be identified either with --start-offset "
            "(for brokers on 3.0 or above) or with --producer-id, --producer-epoch, and --coordinator-epoch "
            "(for older brokers)"
        )
    partition = options.topic, options.partition
    if options.start_offset is None:
        for name in ("producer_epoch", "coordinator_epoch"):
            if getattr(options, name) is None:
                _fail(f"Missing required argument --{name.replace('_', '-')}")
        producer = options.producer_id, options.producer_epoch, max(options.coordinator_epoch, 0)
    else:
        producer = _open_producer(admin, partition, options.start_offset)
    try:
        _write_abort_marker(admin, partition, producer)
    except JavaError as error:
        spec = (
            f"AbortTransactionSpec(topicPartition={_shown(partition)}, producerId={producer[0]}, "
            f"producerEpoch={producer[1]}, coordinatorEpoch={producer[2]})"
        )
        reason = _REFUSALS.get(error.code or ErrorCode.NONE, "").format(producer[2])
        shown = JavaError(error.name, f"WriteTxnMarkers request with {spec} {reason}") if reason else error
        _fail(f"Failed to abort transaction {spec}", shown)


def _open_producer(admin: AdminClient, partition: TopicPartition, start: int) -> tuple[int, int, int]:
    """Return id, epoch and coordinator epoch of the producer whose transaction starts at an offset."""
    try:
        found = active_producers(admin, [partition], None)[partition]
    except JavaError as error:
        _fail(f"Failed to validate producer state for partition {_shown(partition)}", error)
    for row in found:
        if row.current_txn_start_offset == start:
            return row.producer_id, row.producer_epoch, max(row.coordinator_epoch, 0)
    _fail(f"Could not find any open transactions starting at offset {start} on partition {_shown(partition)}")


def _write_abort_marker(
    admin: AdminClient, partition: TopicPartition, producer: tuple[int, int, int]
) -> None:
    """Have the leader of a partition abort a transaction in that partition. Raises JavaError."""
    topic, index = partition
    leader = admin.leaders([topic]).get(partition, -1)
    if leader < 0:
        raise error_of_code(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    producer_id, epoch, coordinator_epoch = producer
    marker = WriteTxnMarkersRequest.WritableTxnMarker(
        producer_id,
        epoch,
        transaction_result=False,
        topics=[WriteTxnMarkersRequest.WritableTxnMarkerTopic(topic, [index])],
        coordinator_epoch=coordinator_epoch,
    )
    response = admin.ask(WriteTxnMarkersRequest([marker]), leader, name="abortTransaction")
    for written in response.markers:
        for row in written.topics:
            for each in row.partitions:
                raise_for(each.error_code)


def _find_hanging(admin: AdminClient, options: argparse.Namespace) -> None:
    if options.topic is None and options.broker_id is None:
        _fail(
            "The `find-hanging` command requires either --topic or --broker-id "
            "to limit the scope of the search"
        )
    if options.partition is not None and options.topic is None:
        _fail("The --partition argument requires --topic to be provided")
    longest_ms = options.max_transaction_timeout * _MS_A_MINUTE
    found = _candidates(admin, _searched(admin, options), options.broker_id, longest_ms)
    covered = _covered(admin, {row.producer_id for _, row in found}) if found else set()
    now_ms = _now_ms()
    rows = [
        (
            *partition,
            row.producer_id,
            row.producer_epoch,
            row.coordinator_epoch,
            row.current_txn_start_offset,
            row.last_timestamp,
            (now_ms - row.last_timestamp) // _MS_A_MINUTE,
        )
        for partition, row in found
        if (row.producer_id, partition) not in covered
    ]
    _print(options, _HANGING, rows)


def _searched(admin: AdminClient, options: argparse.Namespace) -> list[TopicPartition]:
    """Return the partitions to search for hanging transactions."""
    if options.partition is not None:
        return [(options.topic, options.partition)]
    topics = [options.topic] if options.topic is not None else list_topics(admin)
    try:
        described = describe_topics(admin, topics) if topics else []
    except JavaError as error:
        _fail(f"Failed to describe {len(topics)} topics", error)
    return [
        (topic.name, each.index)
        for topic in described
        for each in topic.partitions
        if options.broker_id is None or options.broker_id in each.replicas
    ]


def _candidates(
    admin: AdminClient, partitions: list[TopicPartition], broker_id: int | None, longest_ms: int
) -> list[tuple[TopicPartition, Any]]:
    """Return the producers with transactions that have been open for longer than `longest_ms`."""
    found = []
    for start in range(0, len(partitions), _BATCH):
        batch = partitions[start : start + _BATCH]
        try:
            producers = active_producers(admin, batch, broker_id)
        except JavaError as error:
            place = "Optional.empty" if broker_id is None else f"Optional[{broker_id}]"
            _fail(f"Failed to describe producers for {len(batch)} partitions on broker {place}", error)
        now_ms = _now_ms()
        found += [
            (partition, row)
            for partition, rows in producers.items()
            for row in rows
            if row.current_txn_start_offset != _NO_OFFSET and now_ms - row.last_timestamp > longest_ms
        ]
    return found


def _covered(admin: AdminClient, producer_ids: set[int]) -> set[tuple[int, TopicPartition]]:
    """Return the partitions of transactions that their coordinators still know, each with the producer id.
    Their transactions are not hanging.
    """
    try:
        listed = list_transactions(admin, ListTransactionsRequest(producer_id_filters=sorted(producer_ids)))
    except JavaError as error:
        _fail(f"Failed to list transactions for {len(producer_ids)} producers", error)
    covered = set()
    for _, row in listed:
        try:
            _, described = describe_transaction(admin, row.transactional_id)
        except JavaError as error:
            if error.code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                continue
            _fail(f"Failed to describe {len(listed)} transactions", error)
        covered |= {
            (row.producer_id, (topic.topic, index))
            for topic in described.topics
            for index in topic.partitions
        }
    return covered


def _shown(partition: TopicPartition) -> str:
    topic, index = partition
    return f"{topic}-{index}"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


_ACT: Final = {
    "list": _list,
    "describe": _describe,
    "describe-producers": _describe_producers,
    "abort": _abort,
    "find-hanging": _find_hanging,
}
