from __future__ import annotations

import pytest

from kcompat.share.key import SharePartitionKey

TOPIC = bytes(range(16))


@pytest.mark.parametrize("group_id", ["group", "a:b", ":", "group:AAECAwQFBgcICQoLDA0ODw:7"])
def test_the_text_of_a_key_is_read_back(group_id: str) -> None:
    key = SharePartitionKey(group_id, TOPIC, 12)
    assert key.coordinator_key == f"{group_id}:AAECAwQFBgcICQoLDA0ODw:12"
    assert SharePartitionKey.parse(key.coordinator_key) == key


@pytest.mark.parametrize(
    "text",
    [
        "",
        "group",
        "group:AAECAwQFBgcICQoLDA0ODw",
        ":AAECAwQFBgcICQoLDA0ODw:1",
        " :AAECAwQFBgcICQoLDA0ODw:1",
        "group:topic:1",
        "group:AAECAwQFBgcICQoLDA0ODw:one",
    ],
)
def test_other_text_is_no_key(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        SharePartitionKey.parse(text)
