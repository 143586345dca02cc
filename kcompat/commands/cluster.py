"""`kcompat cluster`: the id and the brokers of a cluster. Kafka's counterpart: `ClusterTool`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kcompat.admin.client import CONTROLLER, AdminClient
from kcompat.admin.connection import Versioned
from kcompat.admin.errors import JavaError, raise_for, unsupported
from kcompat.admin.log_lines import log_line
from kcompat.admin.settings import ClientSettings, read_command_config
from kcompat.commands.output import execution_error, print_failure, print_json
from kcompat.commands.positional import Argparse4jParser
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


def parser() -> Argparse4jParser:
    """Return the parser of the command."""
    made = Argparse4jParser(prog="kafka-cluster", description="The Kafka cluster tool.")
    actions = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in (
        ("cluster-id", "print the id of the cluster"),
        ("unregister", "unregister a broker"),
        ("list-endpoints", "list the brokers and their addresses"),
    ):
        action = actions.add_parser(name, help=text)
        servers = action.add_mutually_exclusive_group(required=True)
        servers.add_argument("--bootstrap-server", "-b", help="brokers, as HOST1:PORT1,HOST2:PORT2")
        servers.add_argument("--bootstrap-controller", "-C", help="controllers of a KRaft cluster")
        action.add_argument(
            "--config", "-c", "--command-config", dest="config", help="properties file with client settings"
        )
        action.add_output()
        if name == "unregister":
            action.add_argument("--id", "-i", type=int, required=True, help="the broker to unregister")
        if name == "list-endpoints":
            action.add_argument(
                "--include-fenced-brokers", action="store_true", help="also brokers that are fenced"
            )
    return made


def run(words: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    options = parser().parse_args(words)
    try:
        properties = read_command_config(options.config) if options.config else {}
        properties["bootstrap.servers"] = options.bootstrap_server or options.bootstrap_controller
        with AdminClient(ClientSettings(properties)) as admin:
            _ACT[options.command](admin, options)
    except JavaError as error:
        print_failure(error)
        return 1
    return 0


def _cluster_id(admin: AdminClient, options: argparse.Namespace) -> None:
    cluster_id = admin.cluster().cluster_id
    if options.output == "json":
        print_json({"clusterId": cluster_id})
    elif cluster_id is None:
        sys.stdout.write("No cluster ID found. The Kafka version is probably too old.\n")
    else:
        sys.stdout.write(f"Cluster ID: {cluster_id}\n")


def _unregister(admin: AdminClient, options: argparse.Namespace) -> None:
    from kcompat.protocol.messages.unregister_broker import UnregisterBrokerRequest

    try:
        response = admin.ask(UnregisterBrokerRequest(options.id), CONTROLLER, name="unregisterBroker")
        raise_for(response.error_code, response.error_message or None)
    except JavaError as error:
        if error.code is ErrorCode.UNSUPPORTED_VERSION:
            sys.stdout.write("The target cluster does not support the broker unregistration API.\n")
            return
        log_line(
            "ERROR",
            f"[AdminClient clientId={admin.settings.client_id}] Unregister broker request for broker ID "
            f"{options.id} failed: {error}",
            "org.apache.kafka.clients.admin.KafkaAdminClient",
        )
        raise execution_error(error) from error
    sys.stdout.write(f"Broker {options.id} is no longer registered.\n")


def _list_endpoints(admin: AdminClient, options: argparse.Namespace) -> None:
    from kcompat.protocol.messages.describe_cluster import DescribeClusterRequest

    kind = 2 if options.bootstrap_controller else 1

    def make(version: int) -> DescribeClusterRequest:
        if options.include_fenced_brokers and version < 2:
            raise unsupported("The broker cannot tell which brokers are fenced: it is older than Kafka 4.0")
        return DescribeClusterRequest(
            endpoint_type=kind, include_fenced_brokers=options.include_fenced_brokers
        )

    response = admin.ask(Versioned(ApiKey.DESCRIBE_CLUSTER, make), name="describeCluster")
    raise_for(response.error_code, response.error_message)
    brokers = sorted(response.brokers, key=lambda each: each.broker_id)
    if options.output == "json":
        print_json(
            [
                {
                    "id": each.broker_id,
                    "host": each.host,
                    "port": each.port,
                    "rack": each.rack,
                    "fenced": each.is_fenced,
                    "type": "broker" if kind == 1 else "controller",
                }
                for each in brokers
            ]
        )
        return
    width = max((len(each.host) for each in brokers), default=10)
    sys.stdout.write(
        f"{'ID':<10} {'HOST':<{width}} {'PORT':<10} {'RACK':<10} {'STATE':<10} {'ENDPOINT_TYPE':<15}\n"
    )
    for each in brokers:
        state = "fenced" if each.is_fenced else "unfenced"
        sys.stdout.write(
            f"{each.broker_id:<10} {each.host:<{width}} {each.port:<10} {each.rack or 'null':<10} "
            f"{state:<10} {'broker' if kind == 1 else 'controller':<15}\n"
        )


_ACT = {"cluster-id": _cluster_id, "unregister": _unregister, "list-endpoints": _list_endpoints}
