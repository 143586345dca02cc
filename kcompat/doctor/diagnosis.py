"""All checks in order; each runs only if the earlier ones have left a connection to use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.admin.client import AdminClient
from kcompat.admin.configs import describe_configs
from kcompat.admin.errors import JavaError
from kcompat.admin.settings import ClientSettings
from kcompat.admin.topics import describe_by_metadata, list_topics
from kcompat.doctor import brokers, partitions, way_in
from kcompat.doctor.groups import look_at_groups
from kcompat.doctor.limits import look_at_limits
from kcompat.protocol.constants import ConfigResourceType
from kcompat.wording import as_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kcompat.doctor.finding import Finding

MOST_LAG = 10_000
"""Lag in records from which on a group is reported, unless another number is given."""
TIMEOUT_S = 5.0
"""Seconds within which a broker has to accept a connection and to answer, unless another number is given."""


def diagnose(
    properties: Mapping[str, str], most_lag: int = MOST_LAG, timeout_s: float = TIMEOUT_S
) -> Iterator[Finding]:
    """Yield what is wrong with a cluster for a client with these properties.

    `timeout_s` takes the place of the client's own timeouts. Raises JavaError for properties that cannot be
    used.
    """
    settings = ClientSettings({**properties, **_timeouts(timeout_s)})
    for address in settings.bootstrap:
        found = way_in.look_at_port(settings, address, timeout_s)
        if found is None:
            break
        yield found
    else:
        return
    with AdminClient(settings, logs=False) as admin:
        found = way_in.log_in(admin, as_address(*address))
        if found is not None:
            yield found
            return
        yield from _look_at_cluster(admin, properties, most_lag)


def _timeouts(timeout_s: float) -> dict[str, str]:
    """Return the properties by which a client waits so long for a connection and for a response, and twice
    that for a call with its repetitions.
    """
    ms = max(round(timeout_s * 1000), 1)
    return {
        "socket.connection.setup.timeout.ms": f"{ms}",
        "request.timeout.ms": f"{ms}",
        "default.api.timeout.ms": f"{2 * ms}",
    }


def _look_at_cluster(admin: AdminClient, properties: Mapping[str, str], most_lag: int) -> Iterator[Finding]:
    view = admin.cluster()
    yield from brokers.look_at_controller(view)
    unreached = brokers.look_at_addresses(admin, view, admin.settings.bootstrap[0])
    yield from unreached.values()
    reached = [broker_id for broker_id in view.nodes if broker_id not in unreached]
    if not reached:
        return
    yield from brokers.look_at_disks(admin, reached)
    topics = describe_by_metadata(admin, list_topics(admin))
    yield from partitions.look_at_partitions(topics)
    yield from partitions.look_at_required_replicas(admin, topics)
    configs = _configs_of(admin, reached[0])
    yield from partitions.look_at_internal_topics(view, topics, configs)
    yield from look_at_limits(properties, configs)
    if not unreached:  # else requests to these brokers would only fail one after the other
        yield from partitions.look_at_clocks(admin, topics)
        leaders = {(topic.name, each.index): each.leader for topic in topics for each in topic.partitions}
        yield from look_at_groups(admin, leaders, most_lag)


def _configs_of(admin: AdminClient, broker_id: int) -> dict[str, str]:
    """Return the configs of a broker, or none if the client may not see them."""
    try:
        entries = describe_configs(admin, [(ConfigResourceType.BROKER, str(broker_id))])
    except JavaError:
        return {}
    return {each.name: each.value or "" for found in entries.values() for each in found}
