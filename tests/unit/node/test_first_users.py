"""Users that a new cluster begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from kcompat.cluster import znodes
from kcompat.config.broker import BrokerConfig
from kcompat.node.environment import real_environment
from kcompat.node.first_users import with_first_users
from kcompat.security.added_users import AddedUser
from kcompat.store.process_store import ProcessStore

if TYPE_CHECKING:
    from kcompat.clock import Clock
    from kcompat.node.environment import Environment
    from kcompat.store.interface import MetadataStore

CLOCK = cast("Clock", None)
USERS = [
    AddedUser("a/b", "SCRAM-SHA-256", "one"),
    AddedUser("a/b", "SCRAM-SHA-512", "two"),
    AddedUser("carol", "SCRAM-SHA-512", "three"),
]


def environment_of(store: ProcessStore) -> Environment:
    """An environment with this store."""
    return replace(real_environment(), open_store=lambda *_: store)


async def session_of(environment: Environment) -> MetadataStore:
    """A session with the environment's store."""
    return await environment.open_store(BrokerConfig({}), CLOCK).session()


async def users_in(session: MetadataStore) -> dict[str, dict[str, str]]:
    """The configs of the users in the store."""
    names = await session.children("/config/users")
    return {name: znodes.decode_config((await session.get(f"/config/users/{name}"))[0]) for name in names}


async def test_a_new_cluster_begins_with_the_users() -> None:
    environment = environment_of(ProcessStore.in_memory(lambda: 0))
    session = await session_of(with_first_users(environment, USERS))
    expected = {
        "a%2Fb": {"SCRAM-SHA-256": "one", "SCRAM-SHA-512": "two"},
        "carol": {"SCRAM-SHA-512": "three"},
    }
    assert await users_in(session) == expected
    await session.create("/cluster")
    await session.create(znodes.CLUSTER_ID)
    await session.delete("/config/users/carol")
    session = await session_of(with_first_users(environment, USERS))
    assert (await users_in(session)).keys() == {"a%2Fb"}, "a user that was deleted has come back"


async def test_a_start_that_got_no_further_than_the_users_can_be_repeated() -> None:
    environment = environment_of(ProcessStore.in_memory(lambda: 0))
    await session_of(with_first_users(environment, USERS))
    session = await session_of(with_first_users(environment, USERS[:1]))
    assert (await users_in(session)).keys() == {"a%2Fb", "carol"}


async def test_later_sessions_of_the_same_store_add_nothing() -> None:
    store = with_first_users(environment_of(ProcessStore.in_memory(lambda: 0)), USERS).open_store(
        BrokerConfig({}), CLOCK
    )
    session = await store.session()
    await session.delete("/config/users/carol")
    assert (await users_in(await store.session())).keys() == {"a%2Fb"}
    await store.close()


async def test_users_that_replace_others_are_put_into_a_cluster_that_exists() -> None:
    environment = environment_of(ProcessStore.in_memory(lambda: 0))
    session = await session_of(with_first_users(environment, USERS))
    await session.create("/cluster")
    await session.create(znodes.CLUSTER_ID)
    replacing = [
        AddedUser("a/b", "SCRAM-SHA-256", "new", replaces=True),
        AddedUser("dave", "SCRAM-SHA-256", "four", replaces=True),
        AddedUser("erin", "SCRAM-SHA-256", "five"),
    ]
    session = await session_of(with_first_users(environment, replacing))
    assert await users_in(session) == {
        "a%2Fb": {"SCRAM-SHA-256": "new", "SCRAM-SHA-512": "two"},
        "carol": {"SCRAM-SHA-512": "three"},
        "dave": {"SCRAM-SHA-256": "four"},
    }


async def test_without_users_the_environment_stays_as_it_is() -> None:
    environment = real_environment()
    assert with_first_users(environment, []) is environment
