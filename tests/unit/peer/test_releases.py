"""Which versions of a request may be sent under an `inter.broker.protocol.version`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.config.broker import BrokerConfig
from kcompat.peer.peers import settings_of
from kcompat.peer.releases import latest, release
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from collections.abc import Mapping


@pytest.mark.parametrize(
    ("key", "versions"),
    [
        (ApiKey.FETCH, {"3.9": 17, "3.8": 16, "3.5-IV0": 14, "3.5": 15, "2.8": 12, "2.1-IV1": 8, "0.9.0": 1}),
        (ApiKey.LIST_OFFSETS, {"3.9": 9, "3.4": 7, "2.8": 6, "0.10.1-IV1": 0, "0.10.2": 1}),
        (ApiKey.OFFSET_FOR_LEADER_EPOCH, {"3.9": 4, "2.8": 4, "2.7": 3, "2.0": 1, "1.1": 0}),
        (ApiKey.LEADER_AND_ISR, {"3.9": 7, "3.3": 6, "3.0": 5, "2.8-IV0": 4, "2.4-IV0": 3, "2.0": 1}),
        (ApiKey.STOP_REPLICA, {"3.9-IV0": 4, "3.3": 3, "2.5": 2, "2.2": 1, "2.1": 0}),
        (ApiKey.UPDATE_METADATA, {"3.9": 8, "3.3": 7, "2.8-IV0": 6, "2.3": 5, "1.0": 4, "0.8.2": 0}),
        (ApiKey.CONTROLLED_SHUTDOWN, {"3.9": 3, "2.3": 2, "2.1": 1, "0.8.2": 0}),
        (ApiKey.WRITE_TXN_MARKERS, {"3.9": 1, "2.7": 0}),
        (ApiKey.METADATA, {"3.9": 13, "0.9.0": 13}),
        (ApiKey.ALTER_PARTITION, {"3.9": 3}),
    ],
)
def test_the_newest_version_of_a_release(key: ApiKey, versions: Mapping[str, int]) -> None:
    assert {text: latest(key, release(text)) for text in versions} == versions


def test_releases_are_ordered_as_they_came() -> None:
    texts = ["0.8.2", "0.10.0-IV0", "0.10.0", "0.10.1", "0.11.0", "1.0", "2.8-IV0", "2.8.1", "3.0", "3.9-IV0"]
    assert sorted(texts, key=release) == texts


def test_what_a_broker_connects_with() -> None:
    settings = settings_of(BrokerConfig({}))
    assert settings.release == (3, 9, 0, 0)
    assert (settings.setup_timeout_ms, settings.setup_timeout_max_ms) == (10_000, 30_000)
    assert settings.max_frame >= 104_857_600
    assert settings.receive_buffer == -1
    given = BrokerConfig(
        {
            "inter.broker.protocol.version": "2.8",
            "replica.socket.receive.buffer.bytes": "70000",
            "replica.fetch.response.max.bytes": "200000000",
            "socket.connection.setup.timeout.ms": "5",
        }
    )
    settings = settings_of(given)
    assert settings.release[:2] == (2, 8)
    assert settings.receive_buffer == 70_000
    assert settings.max_frame >= 200_000_000
    assert settings.setup_timeout_ms == 5


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("3.9.x", "3.9"),
        ("3.9.2", "3.9"),
        ("3.9-IV0.3", "3.9-IV0"),
        ("3.9.0-IV7", "3.9"),
        ("0.8.2.1", "0.8.2"),
    ],
)
def test_only_the_first_segments_of_a_version_count(text: str, same: str) -> None:
    assert settings_of(BrokerConfig({"inter.broker.protocol.version": text})).release == release(same)
