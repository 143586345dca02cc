"""A broker's knowledge of the finalized features."""

from __future__ import annotations

import asyncio

import pytest

from kcompat.cluster.feature_levels import encode_finalized
from kcompat.cluster.features import FinalizedFeatures
from kcompat.cluster.znodes import FEATURE
from kcompat.protocol.constants import NO_EPOCH
from kcompat.store.process_store import ProcessStore
from support.controllers import answer

NONE_ENABLED = encode_finalized({})


async def epoch_after(*payloads: bytes) -> int:
    """Return the epoch after the node of the features had these payloads, one after another."""
    store = ProcessStore.in_memory(lambda: 0)
    session = await store.session()
    await session.create(FEATURE, payloads[0])
    features = FinalizedFeatures(session)
    await features.start()
    for payload in payloads[1:]:
        await session.set(FEATURE, payload)
    await asyncio.sleep(0)  # those who watch have heard
    await session.exists(FEATURE)
    features.stop()
    await store.close()
    return features.epoch


async def test_the_epoch_is_the_version_of_the_node() -> None:
    assert await epoch_after(NONE_ENABLED) == 0
    assert await epoch_after(NONE_ENABLED, NONE_ENABLED, NONE_ENABLED) == 2


@pytest.mark.parametrize(
    "payload",
    [b'{"version":1,"status":0,"features":{}}', b'{"version":3,"status":1,"features":{}}', b"{}", b"", b"[]"],
)
async def test_there_is_none_where_features_are_disabled_or_cannot_be_read(payload: bytes) -> None:
    assert await epoch_after(payload) == NO_EPOCH
    assert await epoch_after(NONE_ENABLED, payload) == NO_EPOCH
    assert await epoch_after(payload, NONE_ENABLED) == 1


async def test_without_the_node_there_is_none_until_it_is_made(caplog: pytest.LogCaptureFixture) -> None:
    store = ProcessStore.in_memory(lambda: 0)
    session = await store.session()
    features = FinalizedFeatures(session)
    await features.start()
    assert features.epoch == NO_EPOCH
    await session.create(FEATURE, encode_finalized({"transaction.version": 2}))
    await session.exists(FEATURE)
    await asyncio.sleep(0)
    assert (features.epoch, features.levels) == (0, {"transaction.version": 2})
    assert (features.level("transaction.version"), features.level("other.version")) == (2, 0)
    assert not caplog.text
    await session.set(FEATURE, encode_finalized({"other.version": 1}))
    await answer(features.read_again())
    assert "features are finalized that this broker does not have: {'other.version': 1}" in caplog.text
    await session.delete(FEATURE)
    await answer(features.read_again())
    assert (features.epoch, features.levels) == (NO_EPOCH, {})
    features.stop()
    await store.close()
