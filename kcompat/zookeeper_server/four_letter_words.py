"""Four-letter commands, which operators and tools send in place of a first frame to query a server."""

from __future__ import annotations

import getpass
import os
import platform
import socket
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kcompat.zookeeper_server.service import Service

VERSION: Final = "3.8.4-kcompat, built on 2024-02-12 22:16 UTC"
"""Version of ZooKeeper whose protocol is implemented, in the form that tools parse."""


def answer(word: bytes, service: Service) -> str:
    """Return the server's response to one of `WORDS`."""
    return WORDS[word](service)


def _ruok(service: Service) -> str:  # noqa: ARG001 - one signature for all
    return "imok"


def _isro(service: Service) -> str:  # noqa: ARG001
    return "rw"


def _srvr(service: Service) -> str:
    return _lines([f"Zookeeper version: {VERSION}", *_summary(service)])


def _stat(service: Service) -> str:
    clients = [
        f" /{connection.host}:{connection.port}[1](queued={connection.waiting},"
        f"recved={connection.statistics.received},sent={connection.statistics.sent})"
        for connection in service.connections
    ]
    return _lines([f"Zookeeper version: {VERSION}", "Clients:", *clients, "", *_summary(service)])


def _summary(service: Service) -> list[str]:
    statistics = service.statistics
    return [
        f"Latency min/avg/max: {statistics.shortest_ms}/{statistics.average_ms:.4g}/{statistics.longest_ms}",
        f"Received: {statistics.received}",
        f"Sent: {statistics.sent}",
        f"Connections: {len(service.connections)}",
        f"Outstanding: {_outstanding(service)}",
        f"Zxid: {service.backend.tree.zxid:#x}",
        "Mode: standalone",
        f"Node count: {len(service.backend.tree.nodes)}",
    ]


def _mntr(service: Service) -> str:
    statistics, tree = service.statistics, service.backend.tree
    values = {
        "version": VERSION,
        "server_state": "standalone",
        "avg_latency": f"{statistics.average_ms:.4g}",
        "max_latency": statistics.longest_ms,
        "min_latency": statistics.shortest_ms,
        "packets_received": statistics.received,
        "packets_sent": statistics.sent,
        "num_alive_connections": len(service.connections),
        "outstanding_requests": _outstanding(service),
        "znode_count": len(tree.nodes),
        "watch_count": len(service.watches),
        "ephemerals_count": len(tree.ephemerals()),
        "approximate_data_size": sum(len(path) + len(node.data or b"") for path, node in tree.nodes.items()),
        "global_sessions": len(service.sessions),
    }
    return _lines(f"zk_{name}\t{value}" for name, value in values.items())


def _conf(service: Service) -> str:
    config = service.config
    values = {
        "clientPort": config.client_port,
        "dataDir": config.data_dir,
        "dataLogDir": config.data_dir,
        "tickTime": config.tick_time_ms,
        "maxClientCnxns": config.max_client_cnxns,
        "minSessionTimeout": config.min_session_timeout_ms,
        "maxSessionTimeout": config.max_session_timeout_ms,
        "serverId": 0,
    }
    return _lines(f"{name}={value}" for name, value in values.items())


def _cons(service: Service) -> str:
    lines = []
    for connection in service.connections:
        statistics = connection.statistics
        text = (
            f" /{connection.host}:{connection.port}[1](queued={connection.waiting},"
            f"recved={statistics.received},sent={statistics.sent}"
        )
        if connection.session is not None:
            text += (
                f",sid={connection.session.id:#x},lop={connection.last_operation},est={connection.since_ms},"
                f"to={connection.session.timeout_ms},lcxid={connection.last_xid & 0xFFFFFFFF:#x},"
                f"lzxid={service.backend.tree.zxid:#x},minlat={statistics.shortest_ms},"
                f"avglat={statistics.average_ms:.4g},maxlat={statistics.longest_ms}"
            )
        lines.append(text + ")")
    return _lines([*lines, ""])


def _envi(service: Service) -> str:  # noqa: ARG001
    values = {
        "zookeeper.version": VERSION,
        "host.name": socket.gethostname(),
        "python.version": platform.python_version(),
        "python.home": sys.prefix,
        "os.name": platform.system(),
        "os.arch": platform.machine(),
        "os.version": platform.release(),
        "user.name": getpass.getuser(),
        "user.dir": os.getcwd(),  # noqa: PTH109 - shown as it is
    }
    return _lines(["Environment:", *(f"{name}={value}" for name, value in values.items())])


def _dump(service: Service) -> str:
    due = list(service.sessions.by_due_ms())
    lines = ["SessionTracker dump:", f"Session Sets ({len(due)})/({len(service.sessions)}):"]
    for ms, sessions in due:
        lines.append(f"{len(sessions)} expire in {ms} ms:")
        lines += [f"\t{session.id:#x}\t\t{session.timeout_ms}ms" for session in sessions]
    tree = service.backend.tree
    owned: dict[int, list[str]] = {}
    for path in tree.ephemerals():
        owned.setdefault(tree.nodes[path].ephemeral_owner, []).append(path)
    lines += ["ephemeral nodes dump:", f"Sessions with Ephemerals ({len(owned)}):"]
    for session_id, paths in owned.items():
        lines += [f"{session_id:#x}:", *(f"\t{path}" for path in paths)]
    lines.append("Connections dump:")
    lines += [
        f"\tip: /{connection.host}:{connection.port} sessionId: {connection.session_id:#x}"
        for connection in service.connections
    ]
    return _lines(lines)


def _wchs(service: Service) -> str:
    by_watcher = service.watches.by_watcher()
    paths = {path for each in by_watcher.values() for path in each}
    return _lines(
        [
            f"{len(by_watcher)} connections watching {len(paths)} paths",
            f"Total watches:{len(service.watches)}",
            "",
        ]
    )


def _wchc(service: Service) -> str:
    lines = []
    for connection, paths in service.watches.by_watcher().items():
        lines += [f"{connection.session_id:#x}", *(f"\t{path}" for path in sorted(paths))]
    return _lines([*lines, ""])


def _wchp(service: Service) -> str:
    watchers: dict[str, list[int]] = {}
    for connection, paths in service.watches.by_watcher().items():
        for path in paths:
            watchers.setdefault(path, []).append(connection.session_id)
    lines = []
    for path, sessions in sorted(watchers.items()):
        lines += [path, *(f"\t{session_id:#x}" for session_id in sessions)]
    return _lines([*lines, ""])


def _srst(service: Service) -> str:
    service.statistics.reset()
    return _lines(["Server stats reset."])


def _crst(service: Service) -> str:
    for connection in service.connections:
        connection.statistics.reset()
    return _lines(["Connection stats reset."])


def _outstanding(service: Service) -> int:
    return sum(connection.waiting for connection in service.connections)


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


WORDS: Final[Mapping[bytes, Callable[[Service], str]]] = {
    b"ruok": _ruok,
    b"isro": _isro,
    b"srvr": _srvr,
    b"stat": _stat,
    b"mntr": _mntr,
    b"conf": _conf,
    b"cons": _cons,
    b"envi": _envi,
    b"dump": _dump,
    b"wchs": _wchs,
    b"wchc": _wchc,
    b"wchp": _wchp,
    b"srst": _srst,
    b"crst": _crst,
}
