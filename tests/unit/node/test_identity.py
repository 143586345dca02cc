"""Which id a broker has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.config.broker import BrokerConfig
from kcompat.config.errors import ConfigError
from kcompat.log.identity import Identity
from kcompat.node.identity import with_broker_id
from kcompat.store.process_store import ProcessStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from kcompat.store.interface import MetadataStore

NEW, OLD = Identity(), Identity(7, "c")


@pytest.fixture
async def session() -> AsyncIterator[MetadataStore]:
    store = ProcessStore.in_memory(lambda: 0)
    session = await store.session()
    await session.create("/brokers")
    yield session
    await store.close()


@pytest.mark.parametrize(
    ("given", "identity", "expected"), [("5", OLD, 5), ("5000", NEW, 5000), ("-1", OLD, 7), ("-1", NEW, 1)]
)
async def test_a_broker_that_keeps_its_own_metadata(
    session: MetadataStore, given: str, identity: Identity, expected: int
) -> None:
    config = BrokerConfig({"broker.id": given})
    assert (await with_broker_id(config, identity, session, is_alone=True)).broker_id == expected
    assert await session.exists("/brokers/seqid") is None


@pytest.mark.parametrize(
    ("given", "identity", "expected"), [("5", OLD, 5), ("1000", NEW, 1000), ("-1", OLD, 7)]
)
async def test_a_broker_among_others_with_an_id(
    session: MetadataStore, given: str, identity: Identity, expected: int
) -> None:
    config = BrokerConfig({"broker.id": given})
    assert (await with_broker_id(config, identity, session, is_alone=False)).broker_id == expected


async def test_brokers_without_an_id_get_different_ones(session: MetadataStore) -> None:
    config = BrokerConfig({"reserved.broker.max.id": "10"})
    ids = [(await with_broker_id(config, NEW, session, is_alone=False)).broker_id for _ in range(3)]
    assert len(set(ids)) == 3
    assert min(ids) > 10


async def test_ids_that_are_refused(session: MetadataStore) -> None:
    with pytest.raises(ConfigError, match=r"broker\.id=1001 is above reserved\.broker\.max\.id=1000"):
        await with_broker_id(BrokerConfig({"broker.id": "1001"}), NEW, session, is_alone=False)
    no_generation = {"broker.id.generation.enable": "false"}
    with pytest.raises(ConfigError, match=r"broker\.id is not set"):
        await with_broker_id(BrokerConfig(no_generation), NEW, session, is_alone=False)
    config = BrokerConfig({**no_generation, "broker.id": "1001"})
    assert (await with_broker_id(config, NEW, session, is_alone=False)).broker_id == 1001
