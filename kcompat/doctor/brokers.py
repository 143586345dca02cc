"""Checks of the brokers of a cluster: the addresses that clients are told, the controller, the disks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.admin.errors import JavaError
from kcompat.config.listeners import is_loopback
from kcompat.doctor.finding import error, note, some, warning
from kcompat.doctor.probe import CannotConnectError, Failure, Speech, look_at, timeout_of
from kcompat.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.wording import as_address

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.admin.client import AdminClient, ClusterView
    from kcompat.admin.connection import Node
    from kcompat.doctor.finding import Finding
    from kcompat.doctor.probe import Address

LEAST_USABLE: Final = 0.05
"""Share of a volume that should be free: below it the doctor warns."""

_ADVERTISED: Final = "Set advertised.listeners of the broker to an address that its clients reach"


def look_at_addresses(admin: AdminClient, view: ClusterView, first: Address) -> dict[int, Finding]:
    """Return the fault of the address that each broker advertises, by the broker's id."""
    found = {node.id: _look_at_address(admin, view, node, first) for node in view.nodes.values()}
    return {broker_id: finding for broker_id, finding in found.items() if finding is not None}


def _look_at_address(admin: AdminClient, view: ClusterView, node: Node, first: Address) -> Finding | None:
    at = as_address(node.host, node.port)
    told = f"broker {node.id} tells its clients to connect to {at}"
    try:
        port = look_at((node.host, node.port), timeout_of(admin.settings), by_tls=admin.settings.has_tls)
    except CannotConnectError as fault:
        if fault.failure is Failure.NAME:
            return error(
                "advertised-name-does-not-resolve",
                f"{told}, and {node.host} does not resolve on this machine",
                f"{_ADVERTISED}, or make the name known here.",
            )
        hint = ""
        if is_loopback(node.host) and not is_loopback(first[0]):
            hint = ": a client on another machine connects to itself"
        return error(
            "advertised-address-does-not-answer",
            f"{told}, and {fault.failure.value}{hint}",
            f"{_ADVERTISED}, or start that broker.",
        )
    expected = Speech.TLS if admin.settings.has_tls else Speech.KAFKA
    if port.speech is not expected:
        return error(
            "advertised-port-of-another-kind",
            f"{told}, where {port.speech.value} is spoken and not {expected.value}",
            f"{_ADVERTISED} and that belongs to the listener of the same name.",
        )
    return _look_at_view(admin, view, node)


def _look_at_view(admin: AdminClient, view: ClusterView, node: Node) -> Finding | None:
    """Return the finding about an address that leads to another cluster, or to a broker that is cut off."""
    try:
        seen = admin.ask(MetadataRequest([]), node.id, name="describeCluster")
    except JavaError as fault:
        return error(
            "broker-refuses",
            f"broker {node.id} at {as_address(node.host, node.port)} does not answer as the first one does: "
            f"{fault}",
            "Read the log of that broker; give all brokers the same security settings.",
        )
    if view.cluster_id is not None and seen.cluster_id not in (None, view.cluster_id):
        return error(
            "address-of-another-cluster",
            f"{as_address(node.host, node.port)}, advertised by broker {node.id}, leads to the cluster "
            f"{seen.cluster_id} and not to {view.cluster_id}",
            _ADVERTISED + ".",
        )
    missing = view.nodes.keys() - {each.node_id for each in seen.brokers}
    if missing:
        return error(
            "brokers-disagree",
            f"broker {node.id} does not know of the brokers {some(sorted(missing))}: it is cut off from the "
            "controller",
            "Check the network between the brokers, and the log of that broker.",
        )
    return None


def look_at_controller(view: ClusterView) -> Iterator[Finding]:
    """Yield a finding if there is no controller."""
    if view.controller_id not in view.nodes:
        yield error(
            "no-controller",
            "the cluster has no controller: topics cannot be changed and no leaders are elected",
            "Check the metadata quorum, or ZooKeeper, and the brokers' connections to it.",
        )


def look_at_disks(admin: AdminClient, broker_ids: list[int]) -> Iterator[Finding]:
    """Yield the faults of the brokers' log directories."""
    requests = dict.fromkeys(broker_ids, DescribeLogDirsRequest([]))
    for broker_id, response in admin.ask_each(requests, name="describeLogDirs").items():
        if isinstance(response, JavaError) or response.error_code:
            yield not_allowed(f"the disks of broker {broker_id}", response)
            continue
        for directory in response.results:
            if directory.error_code:
                yield error(
                    "log-directory-failed",
                    f"the log directory {directory.log_dir} of broker {broker_id} has failed",
                    "Look at the disk and the log of the broker; restart it when the disk is mended.",
                )
            elif 0 <= directory.usable_bytes < LEAST_USABLE * directory.total_bytes:
                yield warning(
                    "disk-nearly-full",
                    f"only {directory.usable_bytes >> 20:,} of {directory.total_bytes >> 20:,} MiB are "
                    f"usable for {directory.log_dir} of broker {broker_id}",
                    "Lower retention.ms or retention.bytes of large topics, or give the broker more space.",
                )


def not_allowed(what: str, fault: object) -> Finding:
    """Return the remark that a check was not allowed to read something."""
    reason = fault if isinstance(fault, JavaError) else "the broker refuses the request"
    return note("not-looked-at", f"{what} could not be looked at: {reason}", "Ask as a user who may see it.")
