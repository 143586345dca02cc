"""The settings of a client as Java's clients check them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.admin.errors import JavaError
from kcompat.admin.settings import ClientSettings, read_command_config

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SERVER = {"bootstrap.servers": "localhost:9092"}


def test_defaults_are_those_of_java() -> None:
    settings = ClientSettings(SERVER)
    assert settings.bootstrap == (("localhost", 9092),)
    assert settings.client_id == "adminclient-1"
    assert (settings.has_tls, settings.has_login) == (False, False)
    assert settings.milliseconds("request.timeout.ms") == 30_000
    assert settings.milliseconds("default.api.timeout.ms") == 60_000
    assert settings.text("sasl.mechanism") == "GSSAPI"


def test_several_addresses_of_all_forms() -> None:
    servers = "one:1, [::1]:2,PLAINTEXT://three:3,"
    assert ClientSettings({"bootstrap.servers": servers}).bootstrap == (("one", 1), ("::1", 2), ("three", 3))


def test_a_long_request_timeout_lengthens_the_time_of_a_call() -> None:
    settings = ClientSettings(SERVER | {"request.timeout.ms": "90000"})
    assert settings.milliseconds("default.api.timeout.ms") == 90_000


@pytest.mark.parametrize(
    ("properties", "message", "cause"),
    [
        ({}, 'Missing required configuration "bootstrap.servers" which has no default value.', None),
        (
            {"bootstrap.servers": "localhost"},
            "Failed to create new KafkaAdminClient",
            "Invalid url in bootstrap.servers: localhost",
        ),
        (
            {"bootstrap.servers": "localhost:70000"},
            "Failed to create new KafkaAdminClient",
            "Invalid port in bootstrap.servers: localhost:70000",
        ),
        (
            {"bootstrap.servers": ","},
            "Failed to create new KafkaAdminClient",
            "No resolvable bootstrap urls given in bootstrap.servers",
        ),
        (
            SERVER | {"request.timeout.ms": "soon"},
            "Invalid value soon for configuration request.timeout.ms: Not a number of type INT",
            None,
        ),
        (
            SERVER | {"default.api.timeout.ms": "1"},
            "The specified value of default.api.timeout.ms must be no smaller than the value of "
            "request.timeout.ms.",
            None,
        ),
        (
            SERVER | {"security.protocol": "TLS"},
            "Invalid value TLS for configuration security.protocol: String must be one of (case "
            "insensitive): SASL_SSL, SASL_PLAINTEXT, SSL, PLAINTEXT",
            None,
        ),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_javas_words(
    properties: Mapping[str, str], message: str, cause: str | None
) -> None:
    with pytest.raises(JavaError) as refused:
        ClientSettings(properties)
    assert str(refused.value) == message
    assert (None if cause is None else str(refused.value.__cause__)) == cause


def test_a_file_of_properties(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("# of a client\nsecurity.protocol = SSL\nclient.id=me\n")
    assert read_command_config(str(file)) == {"security.protocol": "SSL", "client.id": "me"}


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(JavaError) as refused:
        read_command_config("/nowhere/client.properties")
    assert refused.value.logged() == "java.nio.file.NoSuchFileException: /nowhere/client.properties"
