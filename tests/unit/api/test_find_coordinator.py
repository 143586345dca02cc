"""The handler of FindCoordinator."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from kcompat.api import (
    find_coordinator,
)
from kcompat.cluster.image import PartitionInfo, TopicImage
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcompat.security.authorizer import CLUSTER, Resource
from kcompat.security.operations import Operation
from support.asking import LOCAL_ADDRESS, Denying
from support.cluster_of_one import ClusterFixture


@pytest.mark.parametrize("version", range(4))
async def test_find_coordinator_creates_the_offsets_topic(version: int) -> None:
    async with ClusterFixture() as fixture:
        response = await fixture.ask(find_coordinator, version, FindCoordinatorRequest(key="g"))
        assert (response.error_code, response.node_id) == (0, 1)
        assert (response.host, response.port) == LOCAL_ADDRESS
        assert response.error_message == ("NONE" if version >= 1 else "")
        assert len(fixture.cluster.image.topics["__consumer_offsets"].partitions) == 50


@pytest.mark.parametrize("version", range(4, 7))
async def test_find_coordinator_of_many(version: int) -> None:
    async with ClusterFixture() as fixture:
        request = FindCoordinatorRequest(coordinator_keys=["g", "", "g"])
        response = await fixture.ask(find_coordinator, version, request)
        rows = [(row.key, row.error_code, row.node_id, row.host, row.port) for row in response.coordinators]
        assert rows == [(key, 0, 1, *LOCAL_ADDRESS) for key in ("g", "", "g")]


@pytest.mark.parametrize(("version", "key_type", "error"), [(1, 2, 42), (3, 9, 42), (5, 2, 42), (6, 2, 42)])
async def test_find_coordinator_of_other_kinds(version: int, key_type: int, error: int) -> None:
    async with ClusterFixture() as fixture:
        if version >= 4:
            request = FindCoordinatorRequest(coordinator_keys=["g"], key_type=key_type)
        else:
            request = FindCoordinatorRequest(key="g", key_type=key_type)
        response = await fixture.ask(find_coordinator, version, request)
        row = response.coordinators[0] if version >= 4 else response
        assert (row.error_code, row.node_id, row.host, row.port) == (error, -1, "", -1)
        assert not fixture.cluster.image.topics


@pytest.mark.parametrize("version", range(1, 7))
async def test_the_topic_of_transactions_is_created(version: int) -> None:
    async with ClusterFixture() as fixture:
        keys: dict[str, Any] = {"coordinator_keys": ["t"]} if version >= 4 else {"key": "t"}
        response = await fixture.ask(find_coordinator, version, FindCoordinatorRequest(**keys, key_type=1))
        row = response.coordinators[0] if version >= 4 else response
        assert (row.error_code, row.node_id, row.host, row.port) == (0, 1, *LOCAL_ADDRESS)
        assert list(fixture.cluster.image.topics) == ["__transaction_state"]


@pytest.mark.parametrize(("key_type", "key"), [(0, "g"), (1, "t"), (2, "g:AAECAwQFBgcICQoLDA0ODw:0")])
async def test_no_coordinator_while_fewer_brokers_are_up_than_the_topic_has_replicas(
    key_type: int, key: str
) -> None:
    async with ClusterFixture(zookeeper_connect="h:2181") as fixture:
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
        response = await fixture.ask(find_coordinator, 6, request)
        assert [(row.error_code, row.node_id) for row in response.coordinators] == [(15, -1)]
        assert not fixture.cluster.image.topics


async def test_find_coordinator_follows_the_group_to_its_partition() -> None:
    async with ClusterFixture() as fixture:
        partitions = {0: PartitionInfo(1, 0, (1,), (1,)), 1: PartitionInfo(-1, 1, (1,), (1,))}
        offsets = TopicImage("__consumer_offsets", b"o" * 16, partitions)
        fixture.cluster.update(fixture.cluster.image.with_topics([offsets]))
        # Java's "a".hashCode() is 97, "b" 98: partitions 1 and 0 of two.
        request = FindCoordinatorRequest(coordinator_keys=["a", "b"])
        response = await fixture.ask(find_coordinator, 4, request)
        assert [row.error_code for row in response.coordinators] == [15, 0]


async def test_members_are_expected_of_who_is_told_where_a_group_is() -> None:
    async with ClusterFixture() as fixture:
        await fixture.ask(find_coordinator, 3, FindCoordinatorRequest(key="g"))
        await fixture.ask(find_coordinator, 3, FindCoordinatorRequest(key="t", key_type=1))
        fixture.authorizer = Denying((Operation.DESCRIBE, Resource.group("secret")))
        await fixture.ask(find_coordinator, 3, FindCoordinatorRequest(key="secret"))
        assert fixture.asked_groups == ["g"]


@pytest.mark.parametrize(
    ("key_type", "denied", "error"),
    [
        (0, (Operation.DESCRIBE, Resource.group("k")), 30),
        (1, (Operation.DESCRIBE, Resource.transactional_id("k")), 53),
        (2, (Operation.CLUSTER_ACTION, CLUSTER), 31),
    ],
)
async def test_each_kind_of_key_needs_a_permission(key_type: int, denied: Any, error: int) -> None:
    async with ClusterFixture() as fixture:
        fixture.authorizer = Denying(denied)
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["k"])
        answer = await fixture.ask(find_coordinator, 6, request)
        assert [(row.error_code, row.error_message, row.node_id) for row in answer.coordinators] == [
            (error, "", -1)
        ]
        assert not fixture.cluster.image.topics, "nothing is created for one who may not know"


KEYS = ("g:AAECAwQFBgcICQoLDA0ODw:0", "a:b:AAECAwQFBgcICQoLDA0ODw:7")


async def test_share_coordinators_are_found_by_share_partitions() -> None:
    async with ClusterFixture() as fixture:
        request = FindCoordinatorRequest(
            key_type=2, coordinator_keys=[*KEYS, "g", ":AAECAwQFBgcICQoLDA0ODw:0"]
        )
        answer = await fixture.ask(find_coordinator, 6, request)
        assert [row.error_code for row in answer.coordinators] == [0, 0, 42, 42]
        assert list(fixture.cluster.image.topics) == ["__share_group_state"]


async def test_a_cluster_without_share_groups_has_no_share_coordinators() -> None:
    async with ClusterFixture() as fixture:
        fixture.features.levels = {}
        request = FindCoordinatorRequest(key_type=2, coordinator_keys=[KEYS[0]])
        answer = await fixture.ask(find_coordinator, 6, request)
        assert [row.error_code for row in answer.coordinators] == [15]
        assert not fixture.cluster.image.topics


def led_by(fixture: ClusterFixture, leader: int) -> None:
    """Have one partition of `__consumer_offsets`, on brokers 1 and 2, led by one of them."""
    offsets = TopicImage("__consumer_offsets", b"o" * 16, {0: PartitionInfo(leader, 0, (1, 2), (1, 2))})
    fixture.cluster.update(fixture.cluster.image.with_topics([offsets]))


async def with_coordinator_in_doubt(fixture: ClusterFixture) -> asyncio.Task[Any]:
    """Ask for the coordinator of a group while broker 2, which is it, is in doubt."""
    await fixture.register(2)
    led_by(fixture, 2)
    fixture.ports.doubtful.add(2)
    fixture.ports.refused.add(2)
    asked = asyncio.create_task(fixture.ask(find_coordinator, 3, FindCoordinatorRequest(key="g")))
    await asyncio.sleep(0)
    assert not asked.done()
    return asked


async def test_a_coordinator_in_doubt_is_not_named_but_the_one_that_takes_its_place() -> None:
    async with ClusterFixture() as fixture:
        asked = await with_coordinator_in_doubt(fixture)
        image = fixture.cluster.image
        two = image.brokers[2]
        alone = {each: broker for each, broker in image.brokers.items() if each != 2}
        fixture.cluster.update(replace(image, brokers=alone, presumed_dead={2: two}))
        await asyncio.sleep(0)
        assert not asked.done()  # who leads instead comes with the next update
        led_by(fixture, 1)
        response = await asked
        assert (response.error_code, response.node_id) == (0, 1)
        assert fixture.asked_groups == ["g"]


async def test_a_coordinator_that_nothing_is_decided_about_is_not_available_after_a_second() -> None:
    async with ClusterFixture() as fixture:
        asked = await with_coordinator_in_doubt(fixture)
        fixture.clock.advance(999)
        await asyncio.sleep(0)
        assert not asked.done()
        fixture.clock.advance(1)
        response = await asked
        assert (response.error_code, response.node_id) == (15, -1)
        assert not fixture.asked_groups


@pytest.mark.parametrize("is_silent", [True, False])
async def test_a_coordinator_that_is_there_after_all_or_only_silent_is_named(is_silent: bool) -> None:
    async with ClusterFixture() as fixture:
        asked = await with_coordinator_in_doubt(fixture)
        fixture.ports.refused.clear()
        if is_silent:
            fixture.clock.advance(1000)
        else:
            fixture.ports.doubtful.clear()
            fixture.ports.changed()
        response = await asked
        assert (response.error_code, response.node_id, response.host) == (0, 2, "h2")


async def test_one_that_may_not_describe_a_group_waits_for_nothing() -> None:
    async with ClusterFixture() as fixture:
        await fixture.register(2)
        led_by(fixture, 2)
        fixture.ports.doubtful.add(2)
        fixture.authorizer = Denying((Operation.DESCRIBE, Resource.group("g")))
        response = await fixture.ask(find_coordinator, 3, FindCoordinatorRequest(key="g"))
        assert (response.error_code, response.node_id) == (30, -1)
