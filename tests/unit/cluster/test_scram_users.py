"""The SCRAM credentials in the metadata image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.cluster.control_requests import UpdateConfigs
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.cluster.scram_users import ScramUsers
from kcompat.security.credentials import SCRAM_SHA_256, SCRAM_SHA_512, ScramCredential, ScramIdentity
from kcompat.security.principals import USER, Principal

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest


def credential(iterations: int = 4096, salt: bytes = b"salt") -> ScramCredential:
    """Return a credential that no password fits."""
    return ScramCredential(salt, b"stored", b"server", iterations)


class Image:
    """A metadata image, and the users in it."""

    def __init__(self, **users: Mapping[str, str]) -> None:
        self._metadata = MetadataCache("cluster")
        self.set(**users)
        self.users = ScramUsers(self._metadata)

    def set(self, **users: Mapping[str, str]) -> None:
        """Replace all configs of these users; `__` stands for `/` in their names."""
        self._metadata.apply(
            UpdateConfigs({("users", name.replace("__", "/")): configs for name, configs in users.items()})
        )


def test_users_that_are_known_from_the_start_and_later_ones_are_found() -> None:
    image = Image(alice={"SCRAM-SHA-256": credential().format(), "producer_byte_rate": "1"})
    assert image.users.find(SCRAM_SHA_256, "alice") == ScramIdentity(Principal(USER, "alice"), credential())
    assert image.users.find(SCRAM_SHA_512, "alice") is None
    image.set(
        bob={"SCRAM-SHA-512": credential().format()}, alice={"SCRAM-SHA-256": credential(8192).format()}
    )
    assert image.users.names() == ["alice", "bob"]
    found = image.users.find(SCRAM_SHA_256, "alice")
    assert found is not None
    assert found.credential.iterations == 8192
    image.set(alice={})
    assert image.users.find(SCRAM_SHA_256, "alice") is None
    assert image.users.names() == ["bob"]


def test_names_are_plain_and_other_entities_are_no_users() -> None:
    text = {"SCRAM-SHA-256": credential().format()}
    image = Image(**{"a%2Fb": text, "alice__clients__c": text, "<default>": text, "%3Cdefault%3E": text})
    assert image.users.names() == ["<default>", "a/b"]


def test_a_credential_that_kafka_would_not_take_is_absent_and_named_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    image = Image(
        alice={"SCRAM-SHA-256": "salt=secret"}, bob={"SCRAM-SHA-256": credential(4095, b"secret").format()}
    )
    assert image.users.names() == []
    assert "user alice" in caplog.text
    assert "user bob" in caplog.text
    assert "secret" not in caplog.text


def test_the_usual_iterations_are_those_of_most_users() -> None:
    image = Image()
    assert image.users.usual_iterations(SCRAM_SHA_256) == 4096

    def user(iterations: int) -> dict[str, str]:
        return {"SCRAM-SHA-256": credential(iterations).format()}

    image.set(a=user(4096), b=user(8192), c=user(8192))
    assert image.users.usual_iterations(SCRAM_SHA_256) == 8192
    assert image.users.usual_iterations(SCRAM_SHA_512) == 4096
    image.set(b={}, c={})
    assert image.users.usual_iterations(SCRAM_SHA_256) == 4096
    image.set(a={})
    assert image.users.usual_iterations(SCRAM_SHA_256) == 4096
