"""The secret behind the salts of unknown users."""

from __future__ import annotations

import asyncio
from random import Random

from kcompat.cluster.scram_users import DECOY_KEY_BYTES, DECOY_KEY_PATH, DecoyKey
from kcompat.store.process_store import ProcessStore


async def test_all_brokers_have_the_key_of_the_first() -> None:
    store = ProcessStore.in_memory(lambda: 0)
    keys = [DecoyKey(await store.session(), Random(seed)) for seed in range(3)]
    await asyncio.gather(*(key.read() for key in keys[:2]))
    await keys[2].read()
    (value,) = {key.value for key in keys}
    assert len(value) == DECOY_KEY_BYTES
    assert store.tree.nodes[DECOY_KEY_PATH].data == value
    await store.close()
