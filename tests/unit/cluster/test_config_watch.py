"""Every broker hears of dynamic configs, whoever changed them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from kcompat.cluster import znodes
from kcompat.cluster.config_entities import entity_of, sanitized_entity
from kcompat.cluster.config_watch import ConfigWatch
from kcompat.cluster.entity_configs import EntityConfigs
from kcompat.cluster.image import TopicImage
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.protocol.errors import ErrorCode
from kcompat.store.interface import Create, Delete
from kcompat.store.notifications import KEPT_MS
from kcompat.store.process_store import ProcessStore
from support.controllers import answer
from support.payloads import json_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from kcompat.cluster.image import ClusterImage
    from kcompat.store.process_session import ProcessSession


class Broker:
    """One broker that watches the changes of configs."""

    def __init__(self, session: ProcessSession, wall: Wall) -> None:
        self.session = session
        self.cluster = MetadataCache("the-cluster")
        self.configs = EntityConfigs(session, self.cluster)
        self.watch = ConfigWatch(session, self.configs, wall.now_ms)
        self.heard: list[Mapping[tuple[str, str], Mapping[str, str]]] = []
        self._changed = asyncio.Event()
        self.cluster.subscribe(self._note)

    def _note(self, old: ClusterImage, new: ClusterImage) -> None:
        self.heard.append(
            {
                entity: configs
                for entity, configs in new.entity_configs.items()
                if old.entity_configs.get(entity) != configs
            }
        )
        self._changed.set()

    async def until(self, kind: str, name: str, configs: Mapping[str, str]) -> None:
        async with asyncio.timeout(10):
            while self.cluster.image.entity_configs.get((kind, name)) != configs:
                self._changed.clear()
                await self._changed.wait()


class Wall:
    def __init__(self) -> None:
        self.ms = 1_700_000_000_000

    def now_ms(self) -> int:
        return self.ms


class Fixture:
    def __init__(self, store: ProcessStore, wall: Wall) -> None:
        self.store = store
        self.wall = wall
        self.brokers: list[Broker] = []

    async def broker(self) -> Broker:
        broker = Broker(await self.store.session(), self.wall)
        self.brokers.append(broker)
        await broker.watch.start()
        return broker


@pytest.fixture
async def fixture() -> AsyncIterator[Fixture]:
    wall = Wall()
    store = ProcessStore.in_memory(wall.now_ms)
    session = await store.session()
    for path in znodes.PERSISTENT_PATHS:
        await session.create(path)
    await session.create(znodes.topic_path("t"))
    fixture = Fixture(store, wall)
    yield fixture
    for broker in fixture.brokers:
        await broker.watch.stop()
    await store.close()


async def test_the_broker_that_changes_obeys_when_it_answers_and_the_others_hear(fixture: Fixture) -> None:
    one, two = await fixture.broker(), await fixture.broker()
    promise = one.configs.replace("topics", "t", {"retention.ms": "5"}, basis={})
    assert await answer(promise) is ErrorCode.NONE
    assert one.cluster.image.configs("topics", "t") == {"retention.ms": "5"}
    await two.until("topics", "t", {"retention.ms": "5"})
    assert (
        await answer(two.configs.replace("brokers", "<default>", {"num.io.threads": "3"})) is ErrorCode.NONE
    )
    await one.until("brokers", "<default>", {"num.io.threads": "3"})
    nodes = fixture.store.tree.nodes
    assert json_of(nodes["/config/topics/t"].data) == {"version": 1, "config": {"retention.ms": "5"}}
    assert [json_of(nodes[f"/config/changes/config_change_000000000{n}"].data) for n in (0, 1)] == [
        {"version": 2, "entity_path": "topics/t"},
        {"version": 2, "entity_path": "brokers/<default>"},
    ]


@pytest.mark.parametrize("group_id", ["plain", "a/b c~*", "..", "ü"])
async def test_settings_of_a_group_are_heard_whatever_its_name(fixture: Fixture, group_id: str) -> None:
    one, two = await fixture.broker(), await fixture.broker()
    wanted = {"consumer.session.timeout.ms": "50000"}
    assert await answer(one.configs.replace("groups", group_id, wanted, basis={})) is ErrorCode.NONE
    await two.until("groups", group_id, wanted)
    assert await answer(two.configs.replace("groups", "other", wanted, basis={})) is ErrorCode.NONE
    late = await fixture.broker()
    assert late.cluster.image.configs("groups", group_id) == wanted
    assert late.cluster.image.configs("groups", "other") == wanted
    paths = [path for path in fixture.store.tree.nodes if path.startswith("/config/groups/")]
    assert [path.count("/") for path in paths] == [3, 3]


@pytest.mark.parametrize(
    ("entity", "path"),
    [
        (sanitized_entity(("users", "a/b c~*")), "users/a%2Fb%20c%7E%2A"),
        (sanitized_entity(("users", None)), "users/<default>"),
        (sanitized_entity(("users", "<default>")), "users/%3Cdefault%3E"),
        (sanitized_entity(("users", ".."), ("clients", "ü")), "users/%2E%2E/clients/%C3%BC"),
        (sanitized_entity(("users", None), ("clients", None)), "users/<default>/clients/<default>"),
        (sanitized_entity(("clients", "a.b")), "clients/a.b"),
        (sanitized_entity(("ips", "::1")), "ips/%3A%3A1"),
    ],
)
async def test_configs_of_users_clients_and_addresses_reach_every_broker(
    fixture: Fixture, entity: tuple[str, str], path: str
) -> None:
    one, two = await fixture.broker(), await fixture.broker()
    wanted = {"producer_byte_rate": "1024"}
    assert await answer(one.configs.replace(*entity, wanted, basis={})) is ErrorCode.NONE
    assert await answer(two.configs.replace("clients", "other", wanted)) is ErrorCode.NONE
    await two.until(*entity, wanted)
    assert json_of(fixture.store.tree.nodes[f"/config/{path}"].data) == {"version": 1, "config": wanted}
    late = await fixture.broker()
    assert late.heard == [{entity: wanted, ("clients", "other"): wanted}]


@pytest.mark.parametrize(
    ("stored", "removed", "left"),
    [
        (["users/alice"], "users/alice", []),
        (["users/alice/clients/c"], "users/alice/clients/c", []),
        (["users/alice", "users/alice/clients/c"], "users/alice/clients/c", ["users/alice"]),
        (
            ["users/alice", "users/alice/clients/c"],
            "users/alice",
            ["users/alice", "users/alice/clients", "users/alice/clients/c"],
        ),
        (
            ["users/alice/clients/c", "users/alice/clients/d"],
            "users/alice/clients/c",
            ["users/alice", "users/alice/clients", "users/alice/clients/d"],
        ),
        (["clients/c"], "clients/c", []),
        (["ips/10.0.0.1"], "ips/10.0.0.1", []),
        (["brokers/7"], "brokers/7", ["brokers/7"]),
    ],
)
async def test_nodes_of_quotas_are_deleted_with_the_last_config(
    fixture: Fixture, stored: list[str], removed: str, left: list[str]
) -> None:
    one, two = await fixture.broker(), await fixture.broker()
    before = set(fixture.store.tree.nodes)
    for path in stored:
        assert await answer(one.configs.replace(*entity_of(path), {"a": "b"})) is ErrorCode.NONE
    await two.until(*entity_of(stored[-1]), {"a": "b"})
    assert await answer(one.configs.replace(*entity_of(removed), {}, basis={"a": "b"})) is ErrorCode.NONE
    await two.until(*entity_of(removed), {})
    added = set(fixture.store.tree.nodes) - before
    assert sorted(path for path in added if "/changes/" not in path) == [f"/config/{path}" for path in left]


async def test_configs_whose_node_was_removed_are_no_longer_in_force(fixture: Fixture) -> None:
    one, two = await fixture.broker(), await fixture.broker()
    user, broker = ("users", "alice"), ("brokers", "7")
    for entity in (user, broker):
        await answer(one.configs.replace(*entity, {"a": "b"}))
        await two.until(*entity, {"a": "b"})
    two.session.suspend()
    await one.session.delete("/config/users/alice")
    await one.session.multi(
        [
            Delete("/config/brokers/7"),
            Create(znodes.CONFIG_CHANGE_PREFIX, znodes.encode_config_change("brokers/7"), sequential=True),
        ]
    )
    await one.until(*broker, {})
    assert one.cluster.image.configs(*user) == {"a": "b"}  # without a notification brokers cannot know
    two.session.resume()
    await two.until(*user, {})
    await two.until(*broker, {})


async def test_an_unreadable_secret_is_not_logged(fixture: Fixture, caplog: pytest.LogCaptureFixture) -> None:
    await (await fixture.store.session()).create("/config/users/alice", b'{"SCRAM-SHA-256": "salt=secret"')
    await fixture.broker()
    assert "the configs of users alice cannot be read" in caplog.text
    assert "secret" not in caplog.text


async def test_a_change_is_heard_once_by_who_made_it(fixture: Fixture) -> None:
    one, two = await fixture.broker(), await fixture.broker()
    await answer(one.configs.replace("topics", "t", {"retention.ms": "5"}))
    await two.until("topics", "t", {"retention.ms": "5"})
    await answer(one.configs.replace("topics", "t", {"retention.ms": "6"}))
    await two.until("topics", "t", {"retention.ms": "6"})
    assert one.heard == [{("topics", "t"): {"retention.ms": value}} for value in ("5", "6")]


async def test_of_two_changes_from_the_same_basis_one_is_refused_and_then_knows_the_other(
    fixture: Fixture,
) -> None:
    one, two = await fixture.broker(), await fixture.broker()
    outcomes = [
        one.configs.replace("topics", "t", {"retention.ms": "5"}, basis={}),
        two.configs.replace("topics", "t", {"segment.ms": "6"}, basis={}),
    ]
    errors = [await answer(outcome) for outcome in outcomes]
    assert sorted(errors) == [ErrorCode.NONE, ErrorCode.INVALID_UPDATE_VERSION]
    winner, loser = (one, two) if errors[0] is ErrorCode.NONE else (two, one)
    stored = winner.cluster.image.configs("topics", "t")
    assert loser.cluster.image.configs("topics", "t") == stored
    assert await answer(loser.configs.replace("topics", "t", {"a": "b"}, basis=stored)) is ErrorCode.NONE


async def test_a_topic_that_is_not_there(fixture: Fixture) -> None:
    one = await fixture.broker()
    error = await answer(one.configs.replace("topics", "absent", {"retention.ms": "5"}))
    assert error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await one.session.children("/config/topics") == []
    assert await one.session.children("/config/changes") == []


async def test_all_configs_are_heard_at_the_start(fixture: Fixture) -> None:
    one = await fixture.broker()
    await answer(one.configs.replace("topics", "t", {"retention.ms": "5"}))
    await answer(one.configs.replace("brokers", "7", {"num.io.threads": "3"}))
    await one.session.create("/config/users/alice", znodes.encode_config({"SCRAM-SHA-256": "secret"}))
    two = await fixture.broker()
    expected = {
        ("topics", "t"): {"retention.ms": "5"},
        ("brokers", "7"): {"num.io.threads": "3"},
        ("users", "alice"): {"SCRAM-SHA-256": "secret"},
    }
    assert two.heard == [expected]


async def test_what_was_missed_while_cut_off_or_without_a_session_is_heard_then(fixture: Fixture) -> None:
    one, two = await fixture.broker(), await fixture.broker()
    two.session.suspend()
    await answer(one.configs.replace("topics", "t", {"retention.ms": "5"}))
    assert two.heard == []
    two.session.resume()
    await two.until("topics", "t", {"retention.ms": "5"})
    await two.session.expire()
    await answer(one.configs.replace("topics", "t", {"retention.ms": "6"}))
    await two.session.renew()
    await two.until("topics", "t", {"retention.ms": "6"})
    await answer(one.configs.replace("topics", "t", {"retention.ms": "7"}))
    await two.until("topics", "t", {"retention.ms": "7"})


async def test_notifications_of_old_and_of_others_and_of_nobody(fixture: Fixture) -> None:
    one = await fixture.broker()
    session = await fixture.store.session()
    await session.multi(
        [
            Create("/config/topics/t", znodes.encode_config({"retention.ms": "5"})),
            Create("/config/topics/u", znodes.encode_config({"retention.ms": "6"})),
            Create("/config/changes/config_change_", b"{", sequential=True),
            Create("/config/changes/config_change_", b'{"version":2}', sequential=True),
            Create("/config/changes/other"),
            Create(
                "/config/changes/config_change_",
                znodes.encode_config_change("users/alice/clients/c"),
                sequential=True,
            ),
            *(
                Create(znodes.CONFIG_CHANGE_PREFIX, znodes.encode_config_change(path), sequential=True)
                for path in ("users", "users/", "users/a/b/c", "topics/a/clients/b", "others/x", "//")
            ),
            Create(
                "/config/changes/config_change_",
                b'{"version":1,"entity_type":"topics","entity_name":"t"}',
                sequential=True,
            ),
            Create(
                "/config/changes/config_change_", znodes.encode_config_change("topics/gone"), sequential=True
            ),
        ]
    )
    await one.until("topics", "t", {"retention.ms": "5"})
    assert one.heard == [{("topics", "t"): {"retention.ms": "5"}}]


async def test_a_damaged_config_harms_no_other(fixture: Fixture, caplog: pytest.LogCaptureFixture) -> None:
    session = await fixture.store.session()
    await session.create("/config/topics/t", b"[]")
    await session.create("/config/topics/u", znodes.encode_config({"retention.ms": "6"}))
    one = await fixture.broker()
    assert one.heard == [{("topics", "u"): {"retention.ms": "6"}}]
    assert "the configs of topics t cannot be read" in caplog.text


async def test_old_notifications_are_removed_by_who_reads_the_next(fixture: Fixture) -> None:
    one, two = await fixture.broker(), await fixture.broker()
    await answer(one.configs.replace("topics", "t", {"retention.ms": "5"}))
    await two.until("topics", "t", {"retention.ms": "5"})
    fixture.wall.ms += KEPT_MS
    await answer(one.configs.replace("topics", "t", {"retention.ms": "6"}))
    await two.until("topics", "t", {"retention.ms": "6"})
    assert len(await one.session.children("/config/changes")) == 2
    fixture.wall.ms += 1
    gone = asyncio.Event()
    one.session.watch("/config/changes/config_change_0000000000", lambda _: gone.set())
    await answer(one.configs.replace("topics", "t", {"retention.ms": "7"}))
    await asyncio.wait_for(gone.wait(), 10)
    await two.until("topics", "t", {"retention.ms": "7"})
    names = await one.session.children("/config/changes")
    assert names == ["config_change_0000000001", "config_change_0000000002"]


async def test_configs_that_a_role_needs_are_read_before_it(fixture: Fixture) -> None:
    one = await fixture.broker()
    session = await fixture.store.session()
    await session.create("/config/topics/t", znodes.encode_config({"retention.ms": "5"}))
    assert one.cluster.image.configs("topics", "t") == {}
    await answer(one.configs.ensure(["t", "absent"]))
    assert one.cluster.image.configs("topics", "t") == {"retention.ms": "5"}
    one.cluster.update(one.cluster.image.with_topics([TopicImage("t", bytes(16), {})]))
    assert one.configs.ensure(["t"]).done


async def test_configs_of_an_earlier_topic_of_the_same_name_are_not_taken_for_those_of_the_new(
    fixture: Fixture,
) -> None:
    one, two = await fixture.broker(), await fixture.broker()
    await answer(one.configs.replace("topics", "t", {"retention.ms": "5"}))
    await two.until("topics", "t", {"retention.ms": "5"})
    await one.session.set("/config/topics/t", znodes.encode_config({}))  # deleted, and created again
    await answer(two.configs.ensure(["t"]))
    assert two.cluster.image.configs("topics", "t") == {}


async def test_configs_of_topics_that_are_being_deleted_are_not_heard(fixture: Fixture) -> None:
    session = await fixture.store.session()
    await session.create("/config/topics/t", znodes.encode_config({"retention.ms": "5"}))
    await session.create("/admin/delete_topics/t")
    one = await fixture.broker()
    assert one.heard == []


async def test_a_session_that_has_ended(fixture: Fixture) -> None:
    one = await fixture.broker()
    await one.session.expire()
    error = await answer(one.configs.replace("topics", "t", {"retention.ms": "5"}))
    assert error is ErrorCode.REQUEST_TIMED_OUT


async def test_nobody_is_answered_once_the_broker_stops(fixture: Fixture) -> None:
    """The client's connection has ended, and requests that were not executed get no answer."""
    one = await fixture.broker()
    one.session.suspend()
    told: list[object] = []
    one.configs.ensure(["t"]).then(told.append, told.append)
    one.configs.replace("topics", "t", {"retention.ms": "5"}).then(told.append, told.append)
    await one.configs.stop()
    assert told == []
