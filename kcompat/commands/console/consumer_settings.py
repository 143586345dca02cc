"""The settings of a console consumer: `ConsumerConfig`, as far as they have an effect here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from kcompat.admin.errors import config_error
from kcompat.admin.offsets import At
from kcompat.commands.console.member import GroupSettings
from kcompat.commands.console.setting_values import as_boolean, as_choice, as_number

if TYPE_CHECKING:
    from collections.abc import Mapping

_RESETS: Final = {"latest": At.LATEST, "earliest": At.EARLIEST, "none": None}
_PROTOCOLS: Final = {"classic": False, "consumer": True}
_OF_CLASSIC_GROUPS: Final = (
    "partition.assignment.strategy",
    "heartbeat.interval.ms",
    "session.timeout.ms",
)
_ISOLATIONS: Final = {"read_committed": 1, "read_uncommitted": 0}


class ConsumerSettings(msgspec.Struct, frozen=True):
    """Checked settings, by the names of Kafka's keys; times are in ms, sizes in bytes."""

    client_id: str
    uses_kip_848: bool
    """Whether the group has the protocol of KIP-848, in which the group coordinator assigns."""
    group: GroupSettings
    reset: int | None
    """Timestamp of the offset where a partition without a position begins; None refuses to begin."""
    isolation: int
    commits: bool
    commit_interval_ms: int
    fetch_max_wait_ms: int
    fetch_min_bytes: int
    fetch_max_bytes: int
    partition_max_bytes: int
    request_timeout_ms: int
    retry_backoff_ms: int
    metadata_max_age_ms: int
    checks_crcs: bool

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> ConsumerSettings:
        """Read the settings. Raises JavaError (`ConfigException`) for an invalid value."""

        def number(key: str, default: int, kind: str = "INT", smallest: int = 0) -> int:
            return as_number(properties, key, default, kind, smallest)

        uses_kip_848 = as_choice(
            {key: text.lower() for key, text in properties.items()}, "group.protocol", "classic", _PROTOCOLS
        )
        if uses_kip_848:
            _refuse_classic_settings(properties)
        client_id = properties.get("client.id", "console-consumer")
        group = GroupSettings(
            properties["group.id"],
            properties.get("group.instance.id"),
            number("session.timeout.ms", 45_000),
            number("heartbeat.interval.ms", 3000),
            number("max.poll.interval.ms", 300_000, smallest=1),
            client_id,
            properties.get("group.remote.assignor"),
        )
        return cls(
            client_id=client_id,
            uses_kip_848=uses_kip_848,
            group=group,
            reset=as_choice(properties, "auto.offset.reset", "latest", _RESETS),
            isolation=as_choice(properties, "isolation.level", "read_uncommitted", _ISOLATIONS),
            commits=as_boolean(properties, "enable.auto.commit", default=True),
            commit_interval_ms=number("auto.commit.interval.ms", 5000),
            fetch_max_wait_ms=number("fetch.max.wait.ms", 500),
            fetch_min_bytes=number("fetch.min.bytes", 1),
            fetch_max_bytes=number("fetch.max.bytes", 50 << 20),
            partition_max_bytes=number("max.partition.fetch.bytes", 1 << 20),
            request_timeout_ms=number("request.timeout.ms", 30_000),
            retry_backoff_ms=number("retry.backoff.ms", 100, "LONG"),
            metadata_max_age_ms=number("metadata.max.age.ms", 300_000, "LONG"),
            checks_crcs=as_boolean(properties, "check.crcs", default=True),
        )


def _refuse_classic_settings(properties: Mapping[str, str]) -> None:
    """Raise JavaError for a setting that the broker has for groups of KIP-848."""
    for key in _OF_CLASSIC_GROUPS:
        if key in properties:
            raise config_error(f"{key} cannot be set when group.protocol=CONSUMER")
