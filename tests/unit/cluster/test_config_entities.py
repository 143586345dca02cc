"""Names of users, clients and addresses in paths, as Kafka sanitizes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcompat.cluster.config_entities import entity_of, entity_path, parts_of, sanitized_entity

NAMES = st.none() | st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@pytest.mark.parametrize(
    ("name", "sanitized"),
    [
        ("alice", "alice"),
        ("CN=a b,O=*", "CN%3Da%20b%2CO%3D%2A"),
        ("a+b~c/d_e-f.g", "a%2Bb%7Ec%2Fd_e-f.g"),
        ("<default>", "%3Cdefault%3E"),
        (None, "<default>"),
    ],
)
def test_a_name_is_sanitized_as_kafka_does(name: str | None, sanitized: str) -> None:
    assert sanitized_entity(("users", name)) == ("users", sanitized)
    assert sanitized_entity(("users", "u"), ("clients", name)) == ("users", f"u/clients/{sanitized}")


@given(NAMES, NAMES)
def test_every_name_comes_back_from_its_path(user: str | None, client: str | None) -> None:
    for parts in ((("users", user), ("clients", client)), (("clients", client),), (("ips", user),)):
        entity = sanitized_entity(*parts)
        path = entity_path(*entity)
        assert path.count("/") == 2 * len(parts) - 1
        assert not {".", ".."} & set(path.split("/"))
        assert parts_of(entity_of(path)) == parts
