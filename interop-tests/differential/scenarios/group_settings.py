"""Configs of groups: described, altered and listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from differential.catalogue import scenario
from differential.scenarios.configs import APPEND, DELETE, DESCRIBE, GROUP, SET, alter, change, describe
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from differential.play import Play


@scenario(ApiKey.LIST_CONFIG_RESOURCES, since=1)
def settings_of_a_group(play: Play, version: int) -> None:
    group, session, interval = play.name("g"), "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
    keys = [session, interval]

    def show() -> None:
        describe(play, 4, GROUP, group, keys, include_synonyms=True)

    def shows(value: str) -> bool:
        resource = {"resource_type": GROUP, "resource_name": group, "configuration_keys": [session]}
        return bool(play.do(DESCRIBE, 4, resources=[resource]).results[0].configs[0].value == value)

    show()
    describe(play, 4, GROUP, "")
    for operations in (
        [(SET, "no.such", "1")],
        [(SET, session, "soon")],
        [(SET, session, "0")],
        [(SET, session, "44999")],
        [(SET, session, "60001")],
        [(SET, interval, "4999")],
        [(SET, interval, "15001")],
        [(SET, session, None)],
        [(APPEND, session, "1")],
        [(SET, session, "50000"), (SET, session, "50001")],
    ):
        change(play, 1, GROUP, group, *operations)
    change(play, 1, GROUP, "", (SET, session, "50000"))
    change(play, 1, GROUP, group, (SET, session, "50000"))
    play.until(lambda: shows("50000"), "the session timeout is known")
    show()
    play.call(ApiKey.LIST_CONFIG_RESOURCES, version, resource_types=[GROUP])
    change(play, 1, GROUP, group, (SET, interval, "6000"), (DELETE, session, None))
    play.until(lambda: shows("45000"), "the session timeout is the broker's again")
    show()
    alter(play, 2, GROUP, group, consumer_session_timeout_ms="55000")
    play.until(lambda: shows("55000"), "the session timeout is known")
    show()


@scenario(ApiKey.LIST_CONFIG_RESOURCES, since=1)
def settings_of_a_share_group(play: Play, _version: int) -> None:
    group, names = play.name("g"), ("session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms")
    session, interval, assignment = (f"share.{name}" for name in names)
    lock, deliveries, locks = (
        f"share.{name}"
        for name in ("record.lock.duration.ms", "delivery.count.limit", "partition.max.record.locks")
    )
    start, isolation, renewal = (
        f"share.{name}" for name in ("auto.offset.reset", "isolation.level", "renew.acknowledge.enable")
    )
    bad = {
        session: ("soon", "0", "44999", "60001"),
        interval: ("0", "4999", "15001"),
        assignment: ("-1", "15001"),
        lock: ("999", "14999", "60001"),
        deliveries: ("1", "11"),
        locks: ("99", "4001"),
        start: ("", "none", "by_duration:", "by_duration:PT", "by_duration:-PT1S", "by_duration:P1"),
        isolation: ("", "READ_COMMITTED", "committed"),
        renewal: ("", "maybe"),
    }
    good = {
        session: "50000",
        interval: "6000",
        assignment: "1",
        lock: "15000",
        deliveries: "2",
        locks: "3000",
        start: "by_duration:PT1H",
        isolation: "read_committed",
        renewal: "false",
    }
    keys = [key for key in good if key not in (assignment, locks)]  # whose defaults differ
    _settings_good_and_bad(play, group, bad, good, keys)


@scenario(ApiKey.LIST_CONFIG_RESOURCES, since=1)
def settings_of_a_streams_group(play: Play, _version: int) -> None:
    group = play.name("g")
    names = ("session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms", "num.standby.replicas")
    session, interval, assignment, copies = (f"streams.{name}" for name in names)
    delay = "streams.initial.rebalance.delay.ms"
    bad = {
        session: ("soon", "0", "44999", "60001"),
        interval: ("0", "4999", "15001"),
        assignment: ("-1", "15001"),
        copies: ("-1", "3"),
        delay: ("-1", "soon"),
    }
    good = {session: "50000", interval: "6000", assignment: "1", copies: "2", delay: "100000"}
    keys = [key for key in good if key != assignment]  # which Kafka shows without its broker's
    _settings_good_and_bad(play, group, bad, good, keys)


def _settings_good_and_bad(
    play: Play, group: str, bad: dict[str, tuple[str, ...]], good: dict[str, str], keys: list[str]
) -> None:
    """Set what is refused, then what is not; `keys` are those whose defaults are compared."""
    for key, values in bad.items():
        for value in values:
            change(play, 1, GROUP, group, (SET, key, value))
    describe(play, 4, GROUP, group, keys, include_synonyms=True)
    change(play, 1, GROUP, group, *((SET, key, value) for key, value in good.items()))
    first = next(iter(good))

    def shows() -> bool:
        resource = {"resource_type": GROUP, "resource_name": group, "configuration_keys": [first]}
        found = play.do(DESCRIBE, 4, resources=[resource]).results[0].configs[0].value
        return bool(found == good[first])

    play.until(shows, "the settings are known")
    describe(play, 4, GROUP, group, list(good))
    describe(play, 4, GROUP, group, keys, include_synonyms=True)
