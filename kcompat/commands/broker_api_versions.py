"""`kcompat broker-api-versions`: the versions that brokers serve.

Kafka's counterpart: `BrokerApiVersionsCommand`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from kcompat.admin.connection import LostConnectionError
from kcompat.admin.errors import JavaError
from kcompat.commands.connecting import connect
from kcompat.commands.options import OptionParser
from kcompat.commands.output import print_json
from kcompat.protocol.api_keys import API_FACTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kcompat.admin.connection import Node
    from kcompat.protocol.messages.api_versions import ApiVersionsResponse

_NODE: Final = {"broker", "zkBroker"}


def parser() -> OptionParser:
    """Return the parser of the command."""
    made = OptionParser("This tool helps to retrieve broker version information.")
    made.accepts_connection()
    made.accepts_output()
    return made


def run(words: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    try:
        options = parser().parse(words)
        options.end_for_help()
        options.require("bootstrap-server")
        with connect(options) as admin:
            found: dict[Node, Any] = {}
            for broker_id, node in sorted(admin.cluster().nodes.items()):
                try:
                    found[node] = dict(admin.connection(broker_id).served())
                except (LostConnectionError, JavaError) as error:
                    found[node] = error
    except JavaError as error:
        cause = error.__cause__  # Kafka's command makes a client of its own, whose errors are not wrapped
        printed = cause if isinstance(cause, JavaError) else error
        sys.stderr.write(f'Exception in thread "main" {printed.logged()}\n')
        return 1
    if options.json:
        print_json([_as_json(node, served) for node, served in found.items()])
        return 0
    for node, served in found.items():
        shown = f"ERROR: {served}" if isinstance(served, Exception) else _table(served)
        rack = "null" if node.rack is None else node.rack
        sys.stdout.write(f"{node.host}:{node.port} (id: {node.id} rack: {rack}) -> {shown}\n")
    return 0


def _table(served: Mapping[int, ApiVersionsResponse.ApiVersion]) -> str:
    """Return the APIs that the broker or a client has, in the order of the keys."""
    keys = {key for key, facts in API_FACTS.items() if _NODE & facts.listeners} | set(served)
    return "(\n\t" + ",\n\t".join(_line(key, served.get(key)) for key in sorted(keys)) + "\n)"


def _line(key: int, row: ApiVersionsResponse.ApiVersion | None) -> str:
    if row is None:
        return f"{_name(key)}({key}): UNSUPPORTED"
    shown = f"{_name(key)}({key}): {row.min_version}"
    if row.max_version != row.min_version:
        shown += f" to {row.max_version}"
    facts = API_FACTS.get(key)
    if facts is None:
        return shown
    usable = min(row.max_version, facts.latest_stable)
    return f"{shown} [usable: {usable}]" if usable >= row.min_version else f"{shown} [unusable: node too new]"


def _name(key: int) -> str:
    facts = API_FACTS.get(key)
    return "UNKNOWN" if facts is None else facts.key.name.title().replace("_", "")


def _as_json(node: Node, served: Any) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": node.id, "host": node.host, "port": node.port, "rack": node.rack}
    if isinstance(served, Exception):
        return shown | {"error": f"{served}", "apis": None}
    apis = [
        {"name": _name(key), "key": key, "minVersion": row.min_version, "maxVersion": row.max_version}
        for key, row in sorted(served.items())
    ]
    return shown | {"error": None, "apis": apis}
