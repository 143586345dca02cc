"""Requests among brokers and the controller; all are those of a former controller or broker."""

from __future__ import annotations

from admission.stage import SHARED, Asker, scene
from differential.brokers_requests import in_sync, states_of, stopped
from kcompat.protocol.api_keys import ApiKey

FORMER = {"controller_id": 1, "controller_epoch": 0, "broker_epoch": 0}
NOBODY = {"broker_id": 9, "broker_epoch": 0}
TOPICS = (*SHARED, "secret-none")


@scene(ApiKey.LEADER_AND_ISR, *range(8))
def leader_and_isr(play: Asker, version: int) -> None:
    play.call(ApiKey.LEADER_AND_ISR, version, **FORMER, **states_of(play, TOPICS))
    play.call(ApiKey.LEADER_AND_ISR, version, **FORMER)


@scene(ApiKey.STOP_REPLICA, *range(5))
def stop_replica(play: Asker, version: int) -> None:
    play.call(ApiKey.STOP_REPLICA, version, **FORMER, **stopped(TOPICS, [0, 3]))
    play.call(ApiKey.STOP_REPLICA, version, **FORMER)


@scene(ApiKey.UPDATE_METADATA, *range(9))
def update_metadata(play: Asker, version: int) -> None:
    play.call(ApiKey.UPDATE_METADATA, version, **FORMER, **states_of(play, TOPICS))


@scene(ApiKey.CONTROLLED_SHUTDOWN, *range(4))
def controlled_shutdown(play: Asker, version: int) -> None:
    play.call(ApiKey.CONTROLLED_SHUTDOWN, version, **NOBODY)


@scene(ApiKey.ALTER_PARTITION, *range(4))
def alter_partition(play: Asker, version: int) -> None:
    play.call(ApiKey.ALTER_PARTITION, version, **NOBODY, **in_sync(play, TOPICS))


@scene(ApiKey.ALLOCATE_PRODUCER_IDS)
def allocate_producer_ids(play: Asker, version: int) -> None:
    play.call(ApiKey.ALLOCATE_PRODUCER_IDS, version, **NOBODY)
