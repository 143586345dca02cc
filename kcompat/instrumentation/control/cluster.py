"""The brokers of a cluster and their faults, on the control port."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from kcompat.errors import UsageError
from kcompat.instrumentation.control.faults import Fault, kept
from kcompat.instrumentation.faults import leaders

if TYPE_CHECKING:
    from kcompat.instrumentation.control.control import Control
    from kcompat.instrumentation.control.operation import Nothing
    from kcompat.node.cluster import ClusterNodes


class WhichBroker(Struct, forbid_unknown_fields=True):
    """The choice of one broker of a cluster."""

    broker: Annotated[int, Meta(description="Id of the broker.")]


class WhichLeader(Struct, forbid_unknown_fields=True):
    """The choice of the broker that leads a partition."""

    topic: str
    partition: int = 0
    isolate: Annotated[
        bool, Meta(description="Whether the broker is cut off from the others in place of killed.")
    ] = False


class WhichIsr(Struct, forbid_unknown_fields=True):
    """The in-sync replicas that a partition is to have."""

    topic: str
    partition: int = 0
    to: Annotated[
        int | list[int],
        Meta(description="Ids of the brokers that remain, the leader among them, or their number."),
    ] = 1


class RunningBroker(Struct):
    """A running broker."""

    id: int
    bootstrap_servers: Annotated[str, Meta(description="Host and port of its first listener.")]


class RunningBrokers(Struct):
    """The running brokers."""

    brokers: list[RunningBroker]


async def list_brokers(control: Control, _: Nothing) -> RunningBrokers:
    """List the running brokers."""
    found = [RunningBroker(each.parts.cluster.broker_id, each.bootstrap_servers) for each in control.nodes]
    return RunningBrokers(sorted(found, key=lambda each: each.id))


async def stop_broker(control: Control, which: WhichBroker) -> None:
    """Shut a broker of a cluster down cleanly: its leaderships move to other brokers first."""
    await _cluster_of(control, which, is_running=True).stop(which.broker)


async def kill_broker(control: Control, which: WhichBroker) -> None:
    """End a broker of a cluster as kill -9 does."""
    _cluster_of(control, which, is_running=True).kill(which.broker)


async def start_broker(control: Control, which: WhichBroker) -> None:
    """Start a broker of a cluster again, on its port and data."""
    await _cluster_of(control, which, is_running=False).start(which.broker)


async def isolate_broker(control: Control, which: WhichBroker) -> None:
    """Cut a broker off from the others and from the metadata store; clients still reach it."""
    leaders.isolate_broker(_cluster_of(control, which), which.broker)


async def heal_brokers(control: Control, _: Nothing) -> None:
    """Reconnect all isolated brokers."""
    leaders.heal_brokers(control.cluster)


async def lose_leader(control: Control, which: WhichLeader) -> Fault:
    """Kill the broker that leads a partition, or isolate it, until the fault ends."""
    return kept(
        control, [leaders.LeaderLoss(control.cluster, which.topic, which.partition, isolate=which.isolate)]
    )


async def shrink_isr(control: Control, which: WhichIsr) -> Fault:
    """Make followers fall behind, so that they leave the ISR of a partition, until the fault ends.

    The answer is sent when they have left.
    """
    return kept(control, [await leaders.shrink_isr(control.cluster, which.topic, which.partition, which.to)])


def _cluster_of(control: Control, which: WhichBroker, *, is_running: bool | None = None) -> ClusterNodes:
    """Return the cluster of a broker. Raises UsageError if there is no such broker, or it is in another
    state.
    """
    cluster = control.cluster
    if which.broker not in cluster.broker_ids:
        last = len(cluster.broker_ids) - 1
        raise UsageError(f"there is no broker {which.broker}: the cluster has 0 to {last}")
    if is_running is not None and (which.broker in cluster.running) != is_running:
        state = "not running: start it first" if is_running else "running already"
        raise UsageError(f"broker {which.broker} is {state}")
    return cluster
